// SPDX-License-Identifier: Apache-2.0
//
// The server as coding agents see it, the programs themselves; running_server.mjs says how to start this.
//
// A filter between the two scripts what the model calls: the first request of an agent has to call a tool that needs no
// arguments, or harmless ones, and later answers are short.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import {after, describe, it} from 'node:test';
import {find, startServer} from './running_server.mjs';

const kMostSeconds = 400;  // an agent's first prompt has tens of thousands of tokens
const codex = find('codex'), claude = find('claude');
if (!codex && !claude) {
  console.log('skipped: neither codex nor claude is in SKALD_NODE_MODULES');
  process.exit(77);
}

const server = await startServer({hasStrictNames: false, context: 120000});
after(() => server.stop());

// Gives requests to the server after `change`, and keeps them with the answers.
async function startFilter(change) {
  const seen = [];
  const filter = http.createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const json = body ? change(JSON.parse(body), seen.length) : undefined;
    const headers = {'content-type': 'application/json', 'anthropic-version': request.headers['anthropic-version'] ?? ''};
    const answer = await fetch(server.url + request.url, {method: request.method, headers, body: json && JSON.stringify(json)});
    const text = await answer.text();
    if (json) seen.push({json, status: answer.status, text});
    response.writeHead(answer.status, {'content-type': answer.headers.get('content-type')});
    response.end(text);
  });
  await new Promise(resolve => filter.listen(0, '127.0.0.1', resolve));
  return {seen, url: `http://127.0.0.1:${filter.address().port}`, stop: () => filter.close()};
}

// Runs an agent in a home of its own, to its end.
async function run(command, given, env) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'skald-agent-'));
  const child = spawn(command, given, {cwd: home, env: {PATH: process.env.PATH, HOME: home, ...env}, stdio: ['ignore', 'pipe', 'pipe']});
  const timer = setTimeout(() => child.kill(), kMostSeconds * 1000);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', data => { output += data; });
  await new Promise(resolve => child.once('close', resolve));
  clearTimeout(timer);
  fs.rmSync(home, {recursive: true, force: true});
  return output;
}

describe('Codex CLI', {skip: !codex && 'codex is not installed'}, () => {
  it('calls a tool and is told its result', async () => {
    const filter = await startFilter((json, number) => {
      if (number > 0) return {...json, tool_choice: 'none', max_output_tokens: 12};
      return {...json, tool_choice: {type: 'function', name: 'get_goal'}, parallel_tool_calls: false, max_output_tokens: 400};
    });
    const provider = `{name="skald",base_url="${filter.url}/v1",wire_api="responses",request_max_retries=0,stream_max_retries=0}`;
    const output = await run(codex, ['exec', '--skip-git-repo-check', '-c', 'model_provider=skald', '-c',
      `model_providers.skald=${provider}`, '-m', 'demo', 'Say hello'], {});
    filter.stop();
    assert.ok(filter.seen.length >= 2, output);
    for (const {status, text} of filter.seen) assert.equal(status, 200, text);
    const {input} = filter.seen[1].json;
    assert.ok(input.some(item => item.type === 'function_call' && item.name === 'get_goal'));
    assert.ok(input.some(item => item.type === 'function_call_output'));
  });
});

describe('Claude Code', {skip: !claude && 'claude is not installed'}, () => {
  it('calls a tool and is told its result', async () => {
    const filter = await startFilter((json, number) => {
      if (number > 0) return {...json, tool_choice: {type: 'none'}, max_tokens: 12};
      return {...json, tool_choice: {type: 'tool', name: 'CronList', disable_parallel_tool_use: true}, max_tokens: 400};
    });
    const output = await run(claude, ['-p', 'Say hello', '--allowedTools', 'CronList'], {
      ANTHROPIC_BASE_URL: filter.url, ANTHROPIC_API_KEY: 'none', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    });
    filter.stop();
    assert.ok(filter.seen.length >= 2, output);
    for (const {status, text} of filter.seen) assert.equal(status, 200, text);
    const blocks = filter.seen[1].json.messages.flatMap(({content}) => content);
    assert.ok(blocks.some(block => block.type === 'tool_use' && block.name === 'CronList'));
    assert.ok(blocks.some(block => block.type === 'tool_result'));
  });
});
