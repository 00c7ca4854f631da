// SPDX-License-Identifier: Apache-2.0
//
// The server as LangChain's OpenAI model sees it; running_server.mjs says how to start this.
import assert from 'node:assert/strict';
import {after, describe, it} from 'node:test';
import {checkWeather, kModelName, kWeatherSchema, load, startServer} from './running_server.mjs';

const {ChatOpenAI, OpenAIEmbeddings} = load('@langchain/openai');
const {AIMessageChunk, HumanMessage, SystemMessage, ToolMessage} = load('@langchain/core/messages');
const {tool} = load('@langchain/core/tools');
const {z} = load('zod');

const server = await startServer();
after(() => server.stop());
const configuration = {baseURL: `${server.url}/v1`};

const kMessages = [new SystemMessage('Speak.'), new HumanMessage('And it came')];
const Weather = z.object({city: z.enum(['Ur', 'Tyre']), days: z.number().int().min(0).max(99)});
const getWeather = tool(({city, days}) => `sunny in ${city} for ${days} days`, {name: 'get_weather', description: 'tells', schema: Weather});

const greedy = fields => new ChatOpenAI({model: kModelName, apiKey: 'none', configuration, maxRetries: 0, temperature: 0, maxTokens: 12, ...fields});
const sampled = fields => greedy({temperature: 1, maxTokens: 300, modelKwargs: {seed: 3}, ...fields});

async function gather(stream) {
  let all = new AIMessageChunk('');
  for await (const chunk of stream) all = all.concat(chunk);
  return all;
}

for (const useResponsesApi of [false, true]) {
  describe(useResponsesApi ? 'responses' : 'chat completions', () => {
    it('are invoked and streamed', async () => {
      const model = greedy({useResponsesApi});
      const whole = await model.invoke(kMessages);
      assert.ok(whole.text);
      assert.equal(whole.usage_metadata.output_tokens, 12);
      const streamed = await gather(await model.stream(kMessages));
      assert.equal(streamed.text, whole.text);
      assert.equal(streamed.usage_metadata.output_tokens, 12);
    });

    it('call tools and read what they said', async () => {
      const model = sampled({useResponsesApi})
        .bindTools([getWeather], {tool_choice: 'get_weather', parallel_tool_calls: false});
      const asked = await model.invoke(kMessages);
      const [call] = asked.tool_calls;
      assert.equal(call.name, 'get_weather');
      Weather.parse(call.args);
      const said = await getWeather.invoke(call);
      assert.ok(said instanceof ToolMessage);
      const answer = await greedy({useResponsesApi}).bindTools([getWeather], {tool_choice: 'none'}).invoke([...kMessages, asked, said]);
      assert.deepEqual(answer.tool_calls, []);
      const streamed = await gather(await model.stream(kMessages));
      assert.equal(streamed.tool_calls[0].name, 'get_weather');
      Weather.parse(streamed.tool_calls[0].args);
    });

    it('fit a schema', async () => {
      for (const method of ['jsonSchema', 'functionCalling']) {
        Weather.parse(await sampled({useResponsesApi}).withStructuredOutput(Weather, {method, name: 'weather'}).invoke(kMessages));
      }
      checkWeather(await sampled({useResponsesApi})
        .withStructuredOutput({title: 'weather', ...kWeatherSchema}, {method: 'jsonSchema', name: 'weather'}).invoke(kMessages));
    });
  });
}

describe('the chat model', () => {
  it('gives log-probabilities and several answers', async () => {
    const whole = await greedy({logprobs: true, topLogprobs: 2}).invoke(kMessages);
    assert.equal(whole.response_metadata.logprobs.content.length, 12);
    const {generations: [several]} = await sampled({n: 3, maxTokens: 12}).generate([kMessages]);
    assert.equal(new Set(several.map(one => one.text)).size, 3);
  });

  it('answers several at a time', async () => {
    const answers = await greedy().batch([kMessages, kMessages, kMessages]);
    assert.equal(new Set(answers.map(answer => answer.text)).size, 1);
  });

  it('tells errors and stops when it is aborted', async () => {
    await assert.rejects(greedy({model: 'gpt-9'}).invoke(kMessages), {status: 404});
    await assert.rejects(greedy({temperature: -1}).invoke(kMessages), {status: 400});
    const controller = new AbortController();
    const stream = await sampled({maxTokens: 1500}).stream(kMessages, {signal: controller.signal});
    await assert.rejects(async () => {
      for await (const chunk of stream) {
        if (chunk.text) controller.abort();
      }
    });
    await server.becomesIdle();
  });
});

describe('embeddings', () => {
  it('are of documents and of a question', async () => {
    const model = new OpenAIEmbeddings({model: kModelName, apiKey: 'none', configuration, maxRetries: 0});
    const [first, second] = await model.embedDocuments(['In the beginning', 'And it came']);
    assert.equal(first.length, second.length);
    assert.deepEqual(await model.embedQuery('And it came'), second);
  });
});
