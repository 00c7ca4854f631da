// SPDX-License-Identifier: Apache-2.0
//
// What the page needs of `skald serve`, with a made-up model: the page's files, conversations, streamed answers. For
// tests of the page alone, and for work on it:
//
//   node mock_server.mjs [--port 8080] [--libraries DIR]
//
// DIR has what is served under /libraries/: it is examples/page/libraries of a build.
//
// Words in the last message choose the answer: "slowly" (a token each 50 ms), "think", "markdown" (all of it), "hostile"
// and "deep" (what would harm a page), "break" (an error after some tokens), "vanish" (the connection breaks), "refuse" (an error
// at once), "wait" (a long prompt).
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {kAnswer, kDeep, kHostile, kMarkdown} from './texts.mjs';

const kPage = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../../examples/server/page');
const kTypes = {'.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml',
                '.txt': 'text/plain', '.woff2': 'font/woff2'};
const kPolicy = /"Content-Security-Policy",((?:\s*"[^"]*")+)/.exec(fs.readFileSync(path.join(kPage, 'page_files.cc'), 'utf8'))[1]
    .replace(/"\s*"|^\s*"|"$/g, '');

const kModels = ['mock-model', 'mock-poet'];

const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));

class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// Pieces of a few letters. A character outside the basic plane is two tokens, of which only the second shows anything.
function tokensOf(text) {
  return text.match(/\s*[\p{L}\p{N}]{1,6}|\s+|[\u{10000}-\u{10ffff}]|[^\p{L}\p{N}\s]/gu);
}

function logprobsOf(token, index) {
  const probability = [0.97, 0.81, 0.44, 0.93, 0.12, 0.66, 0.99, 0.03, 0.88][index % 9];
  const others = [' a', ' the', '\n', ' and'].filter(other => other !== token);
  const top = [{token, logprob: Math.log(probability)}, ...others.map((other, i) => ({
    token: other, logprob: Math.log((1 - probability) * [0.5, 0.25, 0.15, 0.05][i]),
  }))];
  return {token, logprob: Math.log(probability), bytes: [...Buffer.from(token)],
          top_logprobs: top.map(each => ({...each, bytes: [...Buffer.from(each.token)]}))};
}

function stepsOf(token, index) {
  if (!/[\u{10000}-\u{10ffff}]/u.test(token)) return [logprobsOf(token, index)];
  const bytes = [...Buffer.from(token)];
  return [[0, 2], [2, 4]].map(([from, to], i) => (
    {...logprobsOf('\ufffd', index + i), bytes: bytes.slice(from, to), top_logprobs: []}));
}

/** {url, set({loading, gone, key}), requests, close()} */
export async function startMockServer({port = 0, libraries = ''} = {}) {
  const conversations = new Map();
  const mode = {loading: false, gone: false, key: null};
  const requests = [];
  let made = 0;

  const told = ({id, title, created, updated, parent, parent_messages, messages}) => (
    {id, object: 'conversation', title, created, updated, parent, parent_messages, message_count: messages.length, messages});

  function make(title, messages, parent = null, kept = null) {
    const now = Date.now() / 1000;
    const conversation = {id: `conv_${++made}`, title, created: Math.floor(now), updated: now, messages,
                          parent: parent?.id ?? null, parent_messages: kept};
    conversations.set(conversation.id, conversation);
    return told(conversation);
  }

  function find(id) {
    const conversation = conversations.get(id);
    if (!conversation) throw new Failure(404, `no conversation ${id}`);
    return conversation;
  }

  function onConversation(method, id, action, body) {
    const conversation = find(id);
    const first = () => {
      if (!(body.messages >= 0 && body.messages <= conversation.messages.length)) throw new Failure(400, 'messages: no such number');
      return conversation.messages.slice(0, body.messages).map(message => ({...message}));
    };
    if (action === 'fork') {
      const kept = first();
      return make(conversation.title, [...kept, ...body.append ?? []], conversation, kept.length);
    }
    if (action === 'rewind') conversation.messages = first();
    else if (method === 'DELETE') conversations.delete(id);
    else if (method === 'POST') conversation.title = body.title;
    return method === 'DELETE' ? {id, object: 'conversation.deleted', deleted: true} : told(conversation);
  }

  async function complete(response, body) {
    const conversation = find(body.conversation);
    const goesOn = body.continue_final_message ?? false;
    if (body.messages.length === 0 && conversation.messages.at(-1)?.role !== (goesOn ? 'assistant' : 'user')) throw new Failure(400, 'messages: none to answer');
    const question = (body.messages.at(-1) ?? conversation.messages.at(-1)).content;
    const has = word => question.includes(word);
    if (has('refuse')) throw new Failure(400, 'messages[0]: the mock refuses this');
    conversation.messages.push(...body.messages);
    conversation.updated = Date.now() / 1000;
    response.writeHead(200, {'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache'});
    const send = data => response.write(`data: ${JSON.stringify(data)}\n\n`);
    const chunk = (delta, steps, end = null) => send({
      id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 0, model: body.model ?? 'mock',
      choices: [{index: 0, delta, logprobs: steps && {content: steps}, finish_reason: end}],
    });
    const made = {hostile: kHostile, deep: kDeep, markdown: kMarkdown};
    const text = goesOn ? ' And it goes on.' : made[Object.keys(made).find(has)] ?? kAnswer.replace('{}', question);
    const begun = Date.now();
    for (let i = 0; i < (has('wait') ? 20 : 1); ++i) {
      response.write(': keep-alive\n\n');
      await pause(50);
    }
    const answer = goesOn ? conversation.messages.at(-1) : {role: 'assistant', content: ''};
    if (!goesOn) conversation.messages.push(answer);
    chunk({role: 'assistant'}, null);
    const first = Date.now();
    const write = async (part, text, limit) => {
      let tokens = 0;
      for (const token of text.length > 3000 ? text.match(/[\s\S]{1,40}/gu) : tokensOf(text)) {
        if (tokens === limit || response.destroyed) break;
        const steps = stepsOf(token, tokens);
        // As a decoder does: what is no character yet comes without text.
        if (steps.length > 1) chunk({}, [steps.shift()]);
        chunk({[part]: token}, steps);
        answer[part] = (answer[part] ?? '') + token;
        ++tokens;
        await pause(has('slowly') ? 50 : text.length > 3000 ? 0 : 4);
        if (tokens === 12 && has('break')) throw new Failure(500, 'the mock broke off');
        if (tokens === 12 && has('vanish')) response.destroy();
      }
      return tokens;
    };
    // Models mark their thoughts with tokens that nobody sees.
    if (has('think')) chunk({content: ''}, [logprobsOf('<think>', 0)]);
    let tokens = has('think') ? await write('reasoning_content', 'They ask for a song. Which one? The *old* one, of course.') : 0;
    tokens += await write('content', text, body.max_tokens ?? Infinity);
    if (response.destroyed) return;
    chunk({}, null, tokens === body.max_tokens ? 'length' : 'stop');
    const prompt = conversation.messages.reduce((sum, message) => sum + message.content.length, 0);
    send({choices: [], usage: {prompt_tokens: prompt, completion_tokens: tokens, total_tokens: prompt + tokens,
                               prompt_tokens_details: {cached_tokens: Math.floor(prompt / 2)}},
          skald: {digest: '0', first_token_seconds: (first - begun) / 1000, seconds: (Date.now() - begun) / 1000}});
    response.end('data: [DONE]\n\n');
  }

  function serveFile(url, response) {
    const name = url === '/' ? 'index.html' : path.posix.normalize(url);
    const file = name.startsWith('/libraries/') ? path.join(libraries, name.slice('/libraries/'.length)) : path.join(kPage, name);
    if (!fs.existsSync(file)) throw new Failure(404, `no file ${name}`);
    response.writeHead(200, {'Content-Type': kTypes[path.extname(name)], 'Content-Security-Policy': kPolicy,
                             'Cache-Control': 'no-cache'});
    response.end(fs.readFileSync(file));
  }

  async function answer(request, response) {
    const url = new URL(request.url, 'http://mock').pathname;
    if (mode.gone && url !== '/') return request.destroy();
    if (!url.startsWith('/v1') && url !== '/health') return serveFile(url, response);
    const parts = [];
    for await (const part of request) parts.push(part);
    const bytes = Buffer.concat(parts);
    const body = request.headers['content-type'] === 'application/json' ? JSON.parse(bytes) : {};
    requests.push({method: request.method, url, body});
    const json = value => {
      response.writeHead(200, {'Content-Type': 'application/json'});
      response.end(JSON.stringify(value));
    };
    if (mode.loading) throw new Failure(503, 'loading');
    if (url === '/health') return json({status: 'ok', model: 'mock'});
    if (mode.key && request.headers.authorization !== `Bearer ${mode.key}`) throw new Failure(401, 'no such key');
    if (url === '/v1/models') {
      return json({object: 'list', data: kModels.map(id => ({id, object: 'model', context_length: 8192}))});
    }
    if (url === '/v1/chat/completions') return complete(response, body);
    if (url === '/v1/conversations/import') {
      const {title, messages} = JSON.parse(bytes);
      return json(make(title, messages));
    }
    const [, id, action] = /^\/v1\/conversations\/([^/]+)(?:\/(\w+))?$/.exec(url) ?? [];
    if (action === 'state') {
      response.writeHead(200, {'Content-Type': 'application/octet-stream'});
      return response.end(JSON.stringify(find(id)));
    }
    if (id) return json(onConversation(request.method, id, action, body));
    if (request.method === 'POST') return json(make(body.title ?? '', body.messages ?? []));
    const list = [...conversations.values()].sort((a, b) => b.updated - a.updated);
    return json({object: 'list', data: list.map(each => ({...told(each), messages: undefined}))});
  }

  const server = http.createServer((request, response) => {
    answer(request, response).catch(error => {
      const body = {error: {message: error.message, type: 'error', param: null, code: null}};
      if (!response.headersSent) {
        response.writeHead(error.status ?? 500, {'Content-Type': 'application/json'});
        response.end(JSON.stringify(body));
      } else {
        response.end(`data: ${JSON.stringify(body)}\n\n`);
      }
    });
  });
  await new Promise(resolve => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    set: changes => {
      Object.assign(mode, changes);
      if (mode.gone) server.closeAllConnections();
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name, usual) => {
    const place = process.argv.indexOf(`--${name}`);
    return place < 0 ? usual : process.argv[place + 1];
  };
  const {url} = await startMockServer({port: Number(option('port', 8080)), libraries: option('libraries', '')});
  console.log(url);
}
