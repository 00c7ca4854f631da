// SPDX-License-Identifier: Apache-2.0
//
// The server as Anthropic's own client sees it; running_server.mjs says how to start this.
import assert from 'node:assert/strict';
import {after, describe, it} from 'node:test';
import {checkWeather, kModelName, kWeatherSchema, load, startServer} from './running_server.mjs';

const {Anthropic, APIUserAbortError, AuthenticationError, BadRequestError, NotFoundError} = load('@anthropic-ai/sdk');

const server = await startServer();
after(() => server.stop());
const client = new Anthropic({baseURL: server.url, apiKey: 'none', maxRetries: 0});

const kMessages = [{role: 'user', content: 'And it came'}];
const message = fields => ({model: kModelName, max_tokens: 10, temperature: 0, system: 'Speak.', messages: kMessages, ...fields});
const call = fields => message({max_tokens: 300, temperature: 1, seed: 3, tools: [kTool],
  tool_choice: {type: 'tool', name: 'get_weather', disable_parallel_tool_use: true}, ...fields});
const kTool = {name: 'get_weather', description: 'tells', input_schema: kWeatherSchema};

const readTokens = usage => usage.input_tokens + usage.cache_read_input_tokens;

describe('messages', () => {
  it('come whole', async () => {
    const whole = await client.messages.create(message());
    assert.equal(whole.type, 'message');
    assert.equal(whole.role, 'assistant');
    assert.equal(whole.stop_reason, 'max_tokens');
    assert.equal(whole.usage.output_tokens, 10);
    assert.equal(whole.content[0].type, 'text');
    const blocks = [{role: 'user', content: [{type: 'text', text: 'And it', cache_control: {type: 'ephemeral'}}, {type: 'text', text: ' came'}]}];
    const same = await client.messages.create(message({system: [{type: 'text', text: 'Speak.'}], messages: blocks}));
    assert.deepEqual(same.content, whole.content);
    assert.ok(same.usage.cache_read_input_tokens > 0);
    assert.equal(readTokens(same.usage), readTokens(whole.usage));
  });

  it('come as a stream of the same text', async () => {
    const whole = await client.messages.create(message());
    const stream = client.messages.stream(message());
    let text = '';
    stream.on('text', part => { text += part; });
    const final = await stream.finalMessage();
    assert.equal(text, whole.content[0].text);
    assert.deepEqual(final.content, whole.content);
    assert.equal(final.stop_reason, 'max_tokens');
    assert.equal(final.usage.output_tokens, 10);
    assert.equal(readTokens(final.usage), readTokens(whole.usage));
    const types = [];
    for await (const event of await client.messages.create(message({stream: true}))) {
      if (types.length === 0) assert.equal(event.message.usage.input_tokens, readTokens(whole.usage));
      types.push(event.type);
    }
    assert.equal(types[0], 'message_start');
    assert.deepEqual(types.slice(-3), ['content_block_stop', 'message_delta', 'message_stop']);
    assert.equal(types.filter(type => type === 'content_block_start').length, 1);
  });

  it('stop at texts', async () => {
    const {content: [{text}]} = await client.messages.create(message({max_tokens: 40}));
    const stop = text.slice(10, 14);
    const stopped = await client.messages.create(message({max_tokens: 40, stop_sequences: ['\u2603', stop]}));
    assert.equal(stopped.content[0].text, text.slice(0, text.indexOf(stop)));
    assert.equal(stopped.stop_reason, 'stop_sequence');
    assert.equal(stopped.stop_sequence, stop);
  });

  it('are counted', async () => {
    const {max_tokens: _, temperature: __, ...wanted} = message({tools: [kTool]});
    const counted = await client.messages.countTokens(wanted);
    const {usage} = await client.messages.create(message({tools: [kTool], tool_choice: {type: 'none'}}));
    assert.equal(counted.input_tokens, readTokens(usage));
  });

  it('end in the middle when the client aborts', async () => {
    const stream = client.messages.stream(message({max_tokens: 1500, temperature: 1, seed: 1}));
    stream.once('text', () => stream.abort());
    await assert.rejects(stream.finalMessage(), APIUserAbortError);
    await server.becomesIdle();
  });
});

describe('tools', () => {
  for (const tool_choice of [call().tool_choice, {type: 'any', disable_parallel_tool_use: true}]) {
    it(`are called, whole and as a stream, with ${tool_choice.type}`, async () => {
      const whole = await client.messages.create(call({tool_choice}));
      assert.equal(whole.stop_reason, 'tool_use');
      const block = whole.content.at(-1);
      assert.equal(block.type, 'tool_use');
      assert.equal(block.name, 'get_weather');
      checkWeather(block.input);
      const final = await client.messages.stream(call({tool_choice})).finalMessage();
      assert.equal(final.stop_reason, 'tool_use');
      assert.deepEqual(final.content.at(-1).input, block.input);
      const messages = [...kMessages, {role: 'assistant', content: whole.content},
        {role: 'user', content: [{type: 'tool_result', tool_use_id: block.id, content: [{type: 'text', text: 'sunny'}]}]}];
      const next = await client.messages.create(message({messages, tools: [kTool]}));
      assert.equal(next.type, 'message');
    });
  }
});

describe('errors', () => {
  it('are those of the client', async () => {
    await assert.rejects(client.messages.create(message({temperature: -1})), error => {
      assert.ok(error instanceof BadRequestError);
      assert.equal(error.error.type, 'error');
      assert.equal(error.error.error.type, 'invalid_request_error');
      assert.match(error.message, /temperature/);
      return true;
    });
    await assert.rejects(client.messages.create(message({model: 'claude-9'})), NotFoundError);
    await assert.rejects(client.messages.create(message({max_tokens: undefined})), BadRequestError);
    await assert.rejects(client.messages.create(message({stop_sequences: ['']})), BadRequestError);
    await assert.rejects(client.messages.create(message({messages: [{role: 'user', content: 'long '.repeat(5000)}]})), BadRequestError);
    const image = {type: 'image', source: {type: 'url', url: 'http://127.0.0.1/a.png'}};
    await assert.rejects(client.messages.create(message({messages: [{role: 'user', content: [image]}]})), BadRequestError);
    await assert.rejects(client.messages.stream(message({temperature: -1})).finalMessage(), BadRequestError);
  });

  it('come where a key is wrong', async () => {
    const keyed = await startServer({keys: ['key-one alice']});
    try {
      const as = apiKey => new Anthropic({baseURL: keyed.url, apiKey, maxRetries: 0});
      await assert.rejects(as('key-x').messages.create(message()), AuthenticationError);
      assert.equal((await as('key-one').messages.create(message())).usage.output_tokens, 10);
    } finally {
      await keyed.stop();
    }
  });
});

describe('models', () => {
  it('are listed', async () => {
    const names = [];
    for await (const model of client.models.list()) names.push(model.id);
    assert.deepEqual(names, [kModelName]);
  });
});
