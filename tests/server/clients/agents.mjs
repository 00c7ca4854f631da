// SPDX-License-Identifier: Apache-2.0
//
// The server as coding agents see it, the programs themselves; running_server.mjs says how to start this.
import assert from 'node:assert/strict';
import {after, describe, it} from 'node:test';
import {makeHome, removeHome, run, startFilter} from './running_agent.mjs';
import {find, startServer} from './running_server.mjs';

const codex = find('codex'), claude = find('claude');
if (!codex && !claude) {
  console.log('skipped: neither codex nor claude is in SKALD_NODE_MODULES');
  process.exit(77);
}

const server = await startServer({hasStrictNames: false, context: 120000});
after(() => server.stop());

describe('Codex CLI', {skip: !codex && 'codex is not installed'}, () => {
  it('calls a tool and is told its result', async () => {
    const filter = await startFilter(server, (json, seen) => {
      if (seen.length > 0) return {...json, tool_choice: 'none', max_output_tokens: 12};
      return {...json, tool_choice: {type: 'function', name: 'get_goal'}, parallel_tool_calls: false, max_output_tokens: 400};
    });
    const provider = `{name="skald",base_url="${filter.url}/v1",wire_api="responses",request_max_retries=0,stream_max_retries=0}`;
    const home = makeHome();
    const output = await run(codex, ['exec', '--skip-git-repo-check', '-c', 'model_provider=skald', '-c',
      `model_providers.skald=${provider}`, '-m', 'demo', 'Say hello'], home);
    removeHome(home);
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
    const filter = await startFilter(server, (json, seen) => {
      if (seen.length > 0) return {...json, tool_choice: {type: 'none'}, max_tokens: 12};
      return {...json, tool_choice: {type: 'tool', name: 'CronList', disable_parallel_tool_use: true}, max_tokens: 400};
    });
    const home = makeHome();
    const output = await run(claude, ['-p', 'Say hello', '--allowedTools', 'CronList'], home, {
      ANTHROPIC_BASE_URL: filter.url, ANTHROPIC_API_KEY: 'none', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    });
    removeHome(home);
    filter.stop();
    assert.ok(filter.seen.length >= 2, output);
    for (const {status, text} of filter.seen) assert.equal(status, 200, text);
    const blocks = filter.seen[1].json.messages.flatMap(({content}) => content);
    assert.ok(blocks.some(block => block.type === 'tool_use' && block.name === 'CronList'));
    assert.ok(blocks.some(block => block.type === 'tool_result'));
  });
});
