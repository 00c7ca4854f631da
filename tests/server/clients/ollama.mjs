// SPDX-License-Identifier: Apache-2.0
//
// The server as Ollama's own client for JavaScript sees it; running_server.mjs says how to start this.
import assert from 'node:assert/strict';
import {after, describe, it} from 'node:test';
import {checkWeather, kModelName, kWeatherSchema, load, startServer} from './running_server.mjs';

const {Ollama} = load('ollama');

const server = await startServer();
after(() => server.stop());
const client = new Ollama({host: server.url});

const kMessages = [{role: 'user', content: 'And it came'}];
const kShort = {num_predict: 12, temperature: 0};
const kTool = {type: 'function', function: {name: 'get_weather', description: 'tells', parameters: kWeatherSchema}};

describe('models', () => {
  it('are listed, shown and pulled', async () => {
    assert.deepEqual((await client.list()).models.map(model => model.name), [`${kModelName}:latest`]);
    assert.equal((await client.ps()).models[0].name, `${kModelName}:latest`);
    assert.ok((await client.show({model: kModelName})).capabilities.includes('tools'));
    assert.equal((await client.pull({model: kModelName})).status, 'success');
    assert.match((await client.version()).version, /^\d+\.\d+\.\d+$/);
  });
});

describe('answers', () => {
  it('come whole, and as a stream of the same text', async () => {
    const whole = await client.chat({model: kModelName, messages: kMessages, options: kShort});
    assert.equal(whole.done_reason, 'length');
    let text = '';
    for await (const piece of await client.chat({model: kModelName, messages: kMessages, options: kShort, stream: true})) {
      text += piece.message.content;
    }
    assert.equal(text, whole.message.content);
    text = '';
    for await (const piece of await client.generate({model: kModelName, prompt: 'And it came', options: kShort, stream: true})) {
      text += piece.response;
    }
    assert.equal(text, whole.message.content);
  });

  it('have a form', async () => {
    const answer = await client.chat({model: kModelName, messages: kMessages, format: kWeatherSchema, options: {num_predict: 300, seed: 3}});
    checkWeather(JSON.parse(answer.message.content));
  });

  it('may call tools', async () => {
    const wanted = {model: kModelName, messages: kMessages, tools: [kTool], tool_choice: 'required', options: {num_predict: 300, seed: 3}};
    const {message} = await client.chat(wanted);
    checkWeather(message.tool_calls[0].function.arguments);
    const next = [...kMessages, message, {role: 'tool', tool_name: 'get_weather', content: 'sunny'}];
    assert.equal((await client.chat({model: kModelName, messages: next, options: kShort})).message.role, 'assistant');
  });

  it('can be ended', async () => {
    const stream = await client.chat({model: kModelName, messages: kMessages, options: {num_predict: 1500}, stream: true});
    await assert.rejects(async () => {
      for await (const piece of stream) if (!piece.done) stream.abort();
    }, {name: 'AbortError'});
    await server.becomesIdle();
  });
});

describe('vectors', () => {
  it('are those of each text', async () => {
    const {embeddings} = await client.embed({model: kModelName, input: ['In the beginning', 'And it came']});
    assert.deepEqual((await client.embeddings({model: kModelName, prompt: 'And it came'})).embedding, embeddings[1]);
  });
});

describe('errors', () => {
  it('say why', async () => {
    await assert.rejects(client.chat({model: kModelName, messages: [{role: 'nobody', content: 'a'}]}), /expected one of/);
    await assert.rejects(client.generate({model: kModelName, prompt: 'a', suffix: 'b'}), /fill in/);
  });
});
