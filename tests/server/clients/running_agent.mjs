// SPDX-License-Identifier: Apache-2.0
//
// Coding agents as programs, and a filter between them and a server that scripts what the model calls: the first request
// of an agent has to call a tool that needs no arguments, or harmless ones, and later answers are short.
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';

const kMostSeconds = 400;  // an agent's first prompt has tens of thousands of tokens

// Gives requests to the server after `change`, and keeps them with the answers.
export async function startFilter(server, change) {
  const seen = [];
  const filter = http.createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const json = body ? change(JSON.parse(body), seen) : undefined;
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

// A change of chat completions: the first request that offers the tool must call it with just these arguments.
export function callsFirst(tool, given) {
  let hasCalled = false;
  return json => {
    const offered = json.tools?.find(({function: {name}}) => name === tool);
    if (!offered || hasCalled) return {...json, tool_choice: json.tools && 'none', max_tokens: 12, max_completion_tokens: undefined};
    hasCalled = true;
    offered.function.parameters = {
      type: 'object', required: Object.keys(given), additionalProperties: false,
      properties: Object.fromEntries(Object.entries(given).map(([name, value]) => [name, {const: value}])),
    };
    return {...json, tool_choice: {type: 'function', function: {name: tool}}, parallel_tool_calls: false, max_tokens: 400,
            max_completion_tokens: undefined};
  };
}

// A home of an agent's own, a new one if none is given, with these files.
export function makeHome(files = {}, home = fs.mkdtempSync(path.join(os.tmpdir(), 'skald-agent-'))) {
  for (const [name, value] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(home, name)), {recursive: true});
    fs.writeFileSync(path.join(home, name), JSON.stringify(value));  // YAML too
  }
  return home;
}

export function removeHome(home) {
  fs.rmSync(home, {recursive: true, force: true});
}

// Runs an agent in its home to its end; returns what it wrote.
export async function run(command, given, home, env = {}) {
  const child = spawn(command, given, {cwd: home, env: {PATH: process.env.PATH, HOME: home, ...env}, stdio: ['ignore', 'pipe', 'pipe']});
  const timer = setTimeout(() => child.kill('SIGKILL'), kMostSeconds * 1000);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', data => { output += data; });
  await new Promise(resolve => child.once('close', resolve));
  clearTimeout(timer);
  return output;
}
