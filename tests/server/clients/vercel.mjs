// SPDX-License-Identifier: Apache-2.0
//
// The server as the AI SDK of Vercel sees it, through each of its providers that speaks an API of the server's;
// running_server.mjs says how to start this.
import assert from 'node:assert/strict';
import {after, describe, it} from 'node:test';
import {load, loadIfThere, startServer} from './running_server.mjs';

const {generateText, stepCountIs, streamText, tool} = load('ai');
const {createOpenAI} = load('@ai-sdk/openai');
const {createAnthropic} = load('@ai-sdk/anthropic');
const {createOpenAICompatible} = load('@ai-sdk/openai-compatible');
const {z} = load('zod');
const ollama = loadIfThere('ollama-ai-provider-v2');
globalThis.AI_SDK_LOG_WARNINGS = false;

// Any name is the model, as these clients have names of their own.
const server = await startServer({hasStrictNames: false});
after(() => server.stop());
const baseURL = `${server.url}/v1`;
const openai = createOpenAI({baseURL, apiKey: 'none'});
const models = {
  'responses': openai('gpt-5'),
  'chat completions': openai.chat('gpt-5'),
  'messages': createAnthropic({baseURL, apiKey: 'none'})('claude-sonnet-4-5'),
  'compatible': createOpenAICompatible({name: 'skald', baseURL})('demo'),
};

// Two steps: a call of the tool, and a text that was told its result.
function loop(model) {
  const asked = [];
  const look = tool({
    description: 'Looks.',
    inputSchema: z.object({city: z.enum(['Ur', 'Tyre'])}),
    execute: async ({city}) => {
      asked.push(city);
      return {sky: `clear over ${city}`};
    },
  });
  const wanted = {
    model, maxRetries: 0, maxOutputTokens: 400, system: 'Speak.', prompt: 'And it came', tools: {look}, stopWhen: stepCountIs(2),
    prepareStep: ({stepNumber}) => ({toolChoice: stepNumber === 0 ? {type: 'tool', toolName: 'look'} : 'none'}),
  };
  return {asked, wanted};
}

for (const [name, model] of Object.entries(models)) {
  describe(name, () => {
    it('run tools, whole', async () => {
      const {asked, wanted} = loop(model);
      const {steps} = await generateText(wanted);
      assert.equal(steps.length, 2);
      assert.ok(asked.length > 0);
      assert.ok(steps[1].text);
    });

    it('run tools, as a stream', async () => {
      const {asked, wanted} = loop(model);
      const answer = streamText({...wanted, onError: ({error}) => { throw error; }});
      let text = '';
      for await (const part of answer.textStream) text += part;
      assert.equal((await answer.steps).length, 2);
      assert.ok(asked.length > 0);
      assert.ok(text);
    });
  });
}

describe('Ollama', {skip: !ollama && 'ollama-ai-provider-v2 is not installed'}, () => {
  it('answers whole and as a stream', async () => {
    const model = ollama.createOllama({baseURL: `${server.url}/api`})('demo');
    const wanted = {model, maxRetries: 0, prompt: 'And it came', providerOptions: {ollama: {options: {num_predict: 12, temperature: 0}}}};
    const {text} = await generateText(wanted);
    assert.ok(text);
    let streamed = '';
    for await (const part of streamText({...wanted, onError: ({error}) => { throw error; }}).textStream) streamed += part;
    assert.equal(streamed, text);
  });
});
