// SPDX-License-Identifier: Apache-2.0
//
// The server as coding agents that speak OpenAI's chat completions see it, the programs themselves; running_server.mjs
// says how to start this.
import assert from 'node:assert/strict';
import {after, describe, it} from 'node:test';
import {callsFirst, makeHome, removeHome, run, startFilter} from './running_agent.mjs';
import {find, startServer} from './running_server.mjs';

const kAgents = [
  {
    name: 'Qwen Code', program: 'qwen', tool: 'list_directory', given: home => ({path: home}),
    files: () => ({}),
    command: url => ['--auth-type', 'openai', '--openai-base-url', url, '--openai-api-key', 'none', '-m', 'demo', '--yolo', 'Say hello'],
  },
  {
    name: 'opencode', program: 'opencode', tool: 'glob', given: () => ({pattern: '*.none'}),
    files: url => ({'opencode.json': {
      provider: {skald: {npm: '@ai-sdk/openai-compatible', options: {baseURL: url, apiKey: 'none'}, models: {demo: {name: 'demo'}}}},
      share: 'disabled', autoupdate: false,
    }}),
    command: () => ['run', '-m', 'skald/demo', 'Say hello'],
  },
  {
    name: 'Continue', program: 'cn', tool: 'List', given: home => ({dirpath: home}),
    files: url => ({'config.yaml': {
      name: 'test', version: '1.0.0', schema: 'v1',
      models: [{name: 'demo', provider: 'openai', model: 'demo', apiBase: url, apiKey: 'none', roles: ['chat'],
                capabilities: ['tool_use']}],
    }}),
    command: () => ['-p', 'Say hello', '--config', 'config.yaml', '--auto'],
  },
  {
    name: 'Cline', program: 'cline', tool: 'search_codebase', given: () => ({queries: ['nothing']}),
    files: () => ({}),
    setup: url => ['auth', 'openai-compatible', '--apikey', 'none', '--modelid', 'demo', '--baseurl', url, '--data-dir', 'data'],
    command: () => ['--data-dir', 'data', 'Say hello'],  // of its own, which starts no process that goes on
  },
].map(agent => ({...agent, path: find(agent.program)}));
if (kAgents.every(({path}) => !path)) {
  console.log(`skipped: none of ${kAgents.map(({program}) => program).join(', ')} is in SKALD_NODE_MODULES`);
  process.exit(77);
}

const server = await startServer({hasStrictNames: false, context: 120000});
after(() => server.stop());

for (const agent of kAgents) {
  describe(agent.name, {skip: !agent.path && `${agent.program} is not installed`}, () => {
    it('calls a tool and is told its result', async () => {
      const home = makeHome();
      const filter = await startFilter(server, callsFirst(agent.tool, agent.given(home)));
      const url = `${filter.url}/v1`;
      makeHome(agent.files(url), home);
      if (agent.setup) await run(agent.path, agent.setup(url), home);
      const output = await run(agent.path, agent.command(url), home, {OPENAI_API_KEY: 'none'});
      removeHome(home);
      filter.stop();
      assert.ok(filter.seen.length >= 2, output);
      for (const {status, text} of filter.seen) assert.equal(status, 200, text);
      const messages = filter.seen.flatMap(({json}) => json.messages ?? []);
      assert.ok(messages.some(({tool_calls: calls}) => calls?.some(call => call.function.name === agent.tool)), output);
      assert.ok(messages.some(({role}) => role === 'tool'), output);
    });
  });
}
