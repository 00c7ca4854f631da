// SPDX-License-Identifier: Apache-2.0
//
// The server as OpenAI's own client sees it; running_server.mjs says how to start this.
import assert from 'node:assert/strict';
import {after, describe, it} from 'node:test';
import {checkWeather, kModelName, kWeatherSchema, load, startServer} from './running_server.mjs';

const {OpenAI, APIUserAbortError, AuthenticationError, BadRequestError, NotFoundError} = load('openai');
const {zodFunction, zodResponseFormat, zodTextFormat} = load('openai/helpers/zod');
const {z} = load('zod');

const server = await startServer();
after(() => server.stop());
const client = new OpenAI({baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0});

const kMessages = [{role: 'user', content: 'And it came'}];
const chat = fields => ({model: kModelName, messages: kMessages, max_tokens: 12, temperature: 0, ...fields});
const sampled = fields => chat({max_tokens: 300, temperature: 1, seed: 3, ...fields});
const kTool = {type: 'function', function: {name: 'get_weather', description: 'tells', parameters: kWeatherSchema, strict: true}};
const kFlatTool = {type: 'function', ...kTool.function};
const Weather = z.object({city: z.enum(['Ur', 'Tyre']), days: z.number().int().min(0).max(99)});

async function collect(stream) {
  const all = [];
  for await (const one of stream) all.push(one);
  return all;
}

describe('models', () => {
  it('are listed and shown', async () => {
    const {data} = await client.models.list();
    assert.deepEqual(data.map(model => model.id), [kModelName]);
    assert.equal((await client.models.retrieve(kModelName)).owned_by, 'skald');
  });
});

describe('chat completions', () => {
  it('come whole', async () => {
    const answer = await client.chat.completions.create(chat());
    assert.equal(answer.object, 'chat.completion');
    assert.equal(answer.choices[0].finish_reason, 'length');
    assert.equal(answer.usage.completion_tokens, 12);
    assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + 12);
    const again = await client.chat.completions.create(chat());
    assert.equal(again.choices[0].message.content, answer.choices[0].message.content);
    assert.ok(again.usage.prompt_tokens_details.cached_tokens > 0);
  });

  it('come as a stream of the same text', async () => {
    const whole = await client.chat.completions.create(chat());
    const events = await collect(await client.chat.completions.create(chat({stream: true, stream_options: {include_usage: true}})));
    assert.equal(events[0].choices[0].delta.role, 'assistant');
    const text = events.map(event => event.choices[0]?.delta.content ?? '').join('');
    assert.equal(text, whole.choices[0].message.content);
    assert.equal(events.at(-1).usage.completion_tokens, 12);
    assert.deepEqual(events.flatMap(event => event.choices).map(one => one.finish_reason).filter(Boolean), ['length']);
  });

  it('come through the stream helper', async () => {
    const runner = client.chat.completions.stream(chat());
    let text = '';
    runner.on('content', part => { text += part; });
    const final = await runner.finalChatCompletion();
    assert.equal(final.choices[0].message.content, text);
  });

  it('repeat by their seed, and n of them differ', async () => {
    const wanted = chat({temperature: 1, seed: 5, n: 3});
    const [first, second] = await Promise.all([1, 2].map(() => client.chat.completions.create(wanted)));
    assert.deepEqual(first.choices, second.choices);
    assert.equal(new Set(first.choices.map(one => one.message.content)).size, 3);
    const events = await collect(await client.chat.completions.create({...wanted, stream: true}));
    for (const {index, message} of first.choices) {
      const mine = events.flatMap(event => event.choices).filter(one => one.index === index);
      assert.equal(mine.map(one => one.delta.content ?? '').join(''), message.content);
    }
  });

  it('stop at texts', async () => {
    const {message: {content}} = (await client.chat.completions.create(chat({max_tokens: 40}))).choices[0];
    const stop = content.slice(10, 14);
    const [stopped] = (await client.chat.completions.create(chat({max_tokens: 40, stop: [stop]}))).choices;
    assert.equal(stopped.message.content, content.slice(0, content.indexOf(stop)));
    assert.equal(stopped.finish_reason, 'stop');
  });

  it('have log-probabilities', async () => {
    const {choices: [{logprobs, message}]} = await client.chat.completions.create(chat({logprobs: true, top_logprobs: 3}));
    assert.equal(logprobs.content.length, 12);
    assert.equal(Buffer.from(logprobs.content.flatMap(token => token.bytes)).toString().trim(), message.content.trim());
    for (const {token, logprob, top_logprobs: tops} of logprobs.content) {
      assert.ok(logprob <= 0);
      assert.equal(tops.length, 3);
      assert.equal(tops[0].token, token);
    }
  });

  it('fit a schema', async () => {
    const format = {type: 'json_schema', json_schema: {name: 'weather', strict: true, schema: kWeatherSchema}};
    const [{message, finish_reason: finish}] = (await client.chat.completions.create(sampled({response_format: format}))).choices;
    assert.equal(finish, 'stop');
    checkWeather(JSON.parse(message.content));
  });

  it('are parsed by zod', async () => {
    const format = zodResponseFormat(Weather, 'weather');
    const [{message}] = (await client.chat.completions.parse(sampled({response_format: format}))).choices;
    assert.deepEqual(Weather.parse(message.parsed), message.parsed);
    const final = await client.chat.completions.stream(sampled({response_format: format})).finalChatCompletion();
    assert.deepEqual(final.choices[0].message.parsed, message.parsed);
  });

  it('end in the middle when the client aborts', async () => {
    const stream = await client.chat.completions.create(sampled({max_tokens: 1500, stream: true}));
    for await (const event of stream) {
      if (event.choices[0]?.delta.content) break;
    }
    await server.becomesIdle();
    const controller = new AbortController();
    const whole = client.chat.completions.create(sampled({max_tokens: 1500}), {signal: controller.signal});
    setTimeout(() => controller.abort(), 50);
    await assert.rejects(whole, APIUserAbortError);
    await server.becomesIdle();
  });
});

describe('tools', () => {
  for (const choice of ['required', {type: 'function', function: {name: 'get_weather'}}]) {
    it(`are called, whole and as a stream, with ${JSON.stringify(choice)}`, async () => {
      const wanted = sampled({tools: [kTool], tool_choice: choice, parallel_tool_calls: false});
      const [{message, finish_reason: finish}] = (await client.chat.completions.create(wanted)).choices;
      assert.equal(finish, 'tool_calls');
      assert.equal(message.content, null);
      const [call] = message.tool_calls;
      assert.equal(call.function.name, 'get_weather');
      checkWeather(JSON.parse(call.function.arguments));
      const final = await client.chat.completions.stream(wanted).finalChatCompletion();
      assert.equal(final.choices[0].finish_reason, 'tool_calls');
      assert.deepEqual(final.choices[0].message.tool_calls[0].function.arguments, call.function.arguments);
      const messages = [...kMessages, message, {role: 'tool', tool_call_id: call.id, content: 'sunny'}];
      const next = await client.chat.completions.create(chat({messages, tools: [kTool]}));
      assert.equal(next.choices.length, 1);
    });
  }

  it('are not called with "none"', async () => {
    const [{message}] = (await client.chat.completions.create(sampled({tools: [kTool], tool_choice: 'none', max_tokens: 30}))).choices;
    assert.equal(message.tool_calls, undefined);
  });

  it('are run by the client', async () => {
    const asked = [];
    const tool = zodFunction({name: 'get_weather', parameters: Weather, function: value => { asked.push(value); return 'sunny'; }});
    const runner = client.chat.completions.runTools(sampled({tools: [tool], tool_choice: {type: 'function', function: {name: 'get_weather'}}}));
    await runner.finalFunctionToolCallResult();
    assert.equal(asked.length, 1);
    Weather.parse(asked[0]);
  });
});

describe('errors', () => {
  it('are those of the client', async () => {
    await assert.rejects(client.chat.completions.create(chat({temperature: -1})), error => {
      assert.ok(error instanceof BadRequestError);
      assert.equal(error.param, 'temperature');
      assert.equal(error.type, 'invalid_request_error');
      return true;
    });
    await assert.rejects(client.chat.completions.create(chat({model: 'gpt-9'})), error => {
      assert.ok(error instanceof NotFoundError);
      assert.equal(error.code, 'model_not_found');
      return true;
    });
    await assert.rejects(client.models.retrieve('gpt-9'), NotFoundError);
    await assert.rejects(client.responses.create({model: kModelName, input: 'x', previous_response_id: 'resp_0'}), NotFoundError);
    const long = [{role: 'user', content: 'long '.repeat(5000)}];
    await assert.rejects(client.chat.completions.create(chat({messages: long})), {code: 'context_length_exceeded'});
    await assert.rejects(client.chat.completions.create(chat({audio: {voice: 'alloy', format: 'mp3'}})), {code: 'unsupported_parameter'});
  });

  it('come where a key is wrong', async () => {
    const keyed = await startServer({keys: ['key-one alice']});
    try {
      const as = apiKey => new OpenAI({baseURL: `${keyed.url}/v1`, apiKey, maxRetries: 0});
      await assert.rejects(as('key-x').chat.completions.create(chat()), AuthenticationError);
      await assert.rejects(as('key-x').models.list(), AuthenticationError);
      assert.equal((await as('key-one').chat.completions.create(chat())).usage.completion_tokens, 12);
    } finally {
      await keyed.stop();
    }
  });
});

describe('completions', () => {
  const wanted = {model: kModelName, prompt: 'In the beginning', max_tokens: 8, temperature: 0};

  it('come whole, as a stream and with their prompt', async () => {
    const {choices: [{text}], usage} = await client.completions.create(wanted);
    assert.equal(usage.completion_tokens, 8);
    const events = await collect(await client.completions.create({...wanted, stream: true}));
    assert.equal(events.map(event => event.choices[0].text).join(''), text);
    const {choices: [echo]} = await client.completions.create({...wanted, echo: true, logprobs: 2});
    assert.equal(echo.text, wanted.prompt + text);
    assert.equal(echo.logprobs.tokens.length, echo.logprobs.token_logprobs.length);
  });
});

describe('responses', () => {
  const wanted = {model: kModelName, input: 'And it came', instructions: 'Speak.', max_output_tokens: 10, temperature: 0};

  it('come whole and as a stream, and go on', async () => {
    const first = await client.responses.create(wanted);
    assert.equal(first.status, 'incomplete');
    assert.equal(first.incomplete_details.reason, 'max_output_tokens');
    assert.equal(first.usage.output_tokens, 10);
    assert.ok(first.output_text);
    const stream = client.responses.stream(wanted);
    let text = '';
    stream.on('response.output_text.delta', event => { text += event.delta; });
    const final = await stream.finalResponse();
    assert.equal(text, first.output_text);
    assert.equal(final.output_text, text);
    const events = await collect(await client.responses.create({...wanted, stream: true}));
    assert.deepEqual(events.map(event => event.sequence_number), events.map((_, i) => i));
    assert.equal(events[0].type, 'response.created');
    assert.equal(events.at(-1).type, 'response.incomplete');
    const second = await client.responses.create({...wanted, input: 'And then', previous_response_id: first.id});
    assert.equal(second.previous_response_id, first.id);
    assert.ok(second.usage.input_tokens > first.usage.input_tokens);
    const same = await client.responses.create(
      {...wanted, input: [{role: 'user', content: wanted.input}, ...first.output, {role: 'user', content: 'And then'}]});
    assert.equal(same.output_text, second.output_text);
  });

  it('repeat their request with all fields', async () => {
    const response = await client.responses.create({...wanted, tools: [{type: 'function', name: 'f'}]});
    const expected = {max_output_tokens: 10, background: false, completed_at: null, instructions: 'Speak.', max_tool_calls: null, metadata: {},
      parallel_tool_calls: true, previous_response_id: null, reasoning: {effort: null, summary: null}, service_tier: 'default',
      conversation: null, store: true, text: {format: {type: 'text'}}, tool_choice: 'auto', top_logprobs: 0, truncation: 'disabled',
      tools: [{type: 'function', name: 'f', description: null, parameters: null, strict: null}]};
    for (const [name, value] of Object.entries(expected)) assert.deepEqual(response[name], value, name);
  });

  it('call tools', async () => {
    const sampledCall = {...wanted, max_output_tokens: 300, temperature: 1, seed: 3, tools: [kFlatTool],
      tool_choice: {type: 'function', name: 'get_weather'}, parallel_tool_calls: false};
    const whole = await client.responses.create(sampledCall);
    assert.equal(whole.status, 'completed');
    const call = whole.output.at(-1);
    assert.equal(call.type, 'function_call');
    checkWeather(JSON.parse(call.arguments));
    const streamed = (await client.responses.stream(sampledCall).finalResponse()).output.at(-1);
    assert.equal(streamed.arguments, call.arguments);
    const next = await client.responses.create({...wanted, tools: [kFlatTool], previous_response_id: whole.id,
      input: [{type: 'function_call_output', call_id: call.call_id, output: 'sunny'}]});
    assert.equal(next.object, 'response');
  });

  it('are shown, listed, counted and deleted', async () => {
    const first = await client.responses.create(wanted);
    const second = await client.responses.create({...wanted, input: 'And then', previous_response_id: first.id});
    assert.equal((await client.responses.retrieve(second.id)).output_text, second.output_text);
    const ids = [];
    for await (const item of client.responses.inputItems.list(second.id, {limit: 1, order: 'asc'})) ids.push(item.id);
    assert.equal(ids.length, 3);
    assert.equal(ids[1], first.output[0].id);
    const {input_tokens: tokens} = await client.responses.inputTokens.count({...wanted, previous_response_id: first.id, input: 'And then'});
    assert.equal(tokens, second.usage.input_tokens);
    await client.responses.delete(first.id);
    await assert.rejects(client.responses.retrieve(first.id), NotFoundError);
    await assert.rejects(client.responses.cancel(second.id), BadRequestError);
    await assert.rejects(client.responses.create({...wanted, background: true}), {param: 'background'});
  });

  it('belong to conversations', async () => {
    const conversation = await client.conversations.create({metadata: {topic: 'days'}, items: [{role: 'user', content: 'Speak.'}]});
    assert.deepEqual(conversation.metadata, {topic: 'days'});
    const answer = await client.responses.create({...wanted, conversation: conversation.id});
    assert.equal(answer.conversation.id, conversation.id);
    const {data} = await client.conversations.items.list(conversation.id, {order: 'asc'});
    assert.deepEqual(data.map(item => item.role), ['user', 'user', 'assistant']);
    assert.equal(data[2].id, answer.output[0].id);
    const item = await client.conversations.items.retrieve(data[0].id, {conversation_id: conversation.id});
    assert.equal(item.content[0].text, 'Speak.');
    await client.conversations.items.delete(data[0].id, {conversation_id: conversation.id});
    const {data: [added]} = await client.conversations.items.create(conversation.id, {items: [{role: 'user', content: 'And then'}]});
    assert.equal(added.content[0].text, 'And then');
    assert.deepEqual((await client.conversations.update(conversation.id, {metadata: {topic: 'nights'}})).metadata, {topic: 'nights'});
    assert.equal((await client.conversations.retrieve(conversation.id)).object, 'conversation');
    assert.equal((await client.conversations.delete(conversation.id)).deleted, true);
  });

  it('are parsed by zod', async () => {
    const parsed = await client.responses.parse(
      {...wanted, max_output_tokens: 300, temperature: 1, seed: 3, text: {format: zodTextFormat(Weather, 'weather')}});
    assert.deepEqual(Weather.parse(parsed.output_parsed), parsed.output_parsed);
  });
});

describe('embeddings', () => {
  it('are the same as numbers and as base64', async () => {
    const wanted = {model: kModelName, input: ['In the beginning', 'And it came']};
    const packed = await client.embeddings.create(wanted);  // the client asks for base64
    const plain = await client.embeddings.create({...wanted, encoding_format: 'float'});
    assert.equal(packed.data.length, 2);
    for (const [i, {embedding}] of plain.data.entries()) {
      assert.deepEqual([...packed.data[i].embedding], embedding.map(Math.fround));
      assert.ok(Math.abs(embedding.reduce((sum, x) => sum + x * x, 0) - 1) < 1e-4);
    }
    assert.equal((await client.embeddings.create({...wanted, dimensions: 8})).data[0].embedding.length, 8);
  });
});
