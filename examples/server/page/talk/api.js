// SPDX-License-Identifier: Apache-2.0
//
// The server's API: a function for each call, errors as ApiError, an answer as an asynchronous stream of chunks.

/** `status` is that of HTTP, or 0 where the server did not answer or broke off. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const kStoredKey = 'skald.key';
let key = sessionStorage.getItem(kStoredKey) ?? '';
let askForKey = async () => null;
let asking = null;

/** `ask(wrong)` promises a key, or null; `wrong` says that the server refused the one it had. */
export function onUnauthorized(ask) {
  askForKey = ask;
}

// Calls that fail together ask once.
async function newKey() {
  asking ??= askForKey(key !== '').finally(() => { asking = null; });
  const given = await asking;
  if (given === null) return false;
  key = given;
  sessionStorage.setItem(kStoredKey, key);
  return true;
}

async function errorOf(response) {
  const body = await response.json().catch(() => null);
  return new ApiError(response.status, body?.error?.message ?? `The server answered ${response.status}.`);
}

async function call(path, {method = 'GET', json, body, signal} = {}) {
  for (;;) {
    const used = key;
    const headers = used ? {Authorization: `Bearer ${used}`} : {};
    if (json) headers['Content-Type'] = 'application/json';
    if (body) headers['Content-Type'] = 'application/octet-stream';
    let response;
    try {
      response = await fetch(path, {method, headers, signal, body: json ? JSON.stringify(json) : body});
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new ApiError(0, 'The server does not answer.');
    }
    if (response.ok) return response;
    if (response.status !== 401 || (used === key && !await newKey())) throw await errorOf(response);
  }
}

const get = async (path, options) => (await call(path, options)).json();
const post = (path, json) => get(path, {method: 'POST', json});
const of = id => `v1/conversations/${encodeURIComponent(id)}`;

/** 'ready', 'loading' or 'gone'. */
export async function health() {
  try {
    const {status} = await fetch('health', {cache: 'no-store'});
    return status === 200 ? 'ready' : status === 503 ? 'loading' : 'gone';
  } catch {
    return 'gone';
  }
}

export const models = async () => (await get('v1/models')).data;
export const list = async () => (await get('v1/conversations')).data;
export const open = id => get(of(id));
export const create = (title, messages) => post('v1/conversations', {title, messages});
export const rename = (id, title) => post(of(id), {title});
/** The first `messages` of a conversation, and those of `append`, as a branch. */
export const fork = (id, messages, append = []) => post(`${of(id)}/fork`, {messages, ...(append.length ? {append} : {})});
export const rewind = (id, messages) => post(`${of(id)}/rewind`, {messages});
export const remove = id => get(of(id), {method: 'DELETE'});
export const exportState = async id => (await call(`${of(id)}/state`)).blob();
export const importState = file => get('v1/conversations/import', {method: 'POST', body: file});

/** Server-sent events: the data of each, comments left out. https://html.spec.whatwg.org/multipage/server-sent-events.html */
async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let data = [];
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
        if (line !== '' || data.length === 0) continue;
        yield data.join('\n');
        data = [];
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Appends `messages` to the conversation and streams the chunks of the answer. Aborted, it throws an AbortError. */
export async function* complete(conversation, messages, settings, signal) {
  const json = {conversation, messages, stream: true, stream_options: {include_usage: true}, logprobs: true,
                top_logprobs: 5, ...settings};
  const response = await call('v1/chat/completions', {method: 'POST', json, signal});
  const lost = () => new ApiError(0, 'The connection broke before the answer was complete.');
  try {
    for await (const data of events(response.body)) {
      if (data === '[DONE]') return;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new ApiError(500, chunk.error.message ?? 'The server broke off the answer.');
      yield chunk;
    }
  } catch (error) {
    throw error.name === 'TypeError' ? lost() : error;
  }
  throw lost();
}
