// SPDX-License-Identifier: Apache-2.0
//
// A `skald serve` of a test's own, and npm packages that stand outside the repository.
//
//   SKALD_NODE_MODULES=DIR node TEST.mjs PROGRAM DEMO_MODEL
//
// DIR is where `npm install openai @anthropic-ai/sdk @langchain/openai @langchain/core zod ollama ai @ai-sdk/openai
// @ai-sdk/anthropic @ai-sdk/openai-compatible ollama-ai-provider-v2 @openai/codex @anthropic-ai/claude-code
// @qwen-code/qwen-code@0.15.10 cline@3.0.65 @continuedev/cli@1.5.47 opencode-ai@1.18.33` was called. Tests exit with 77
// and a word where a package is missing.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

export const [program, demoModel] = process.argv.slice(2).map(file => path.resolve(file));
export const kModelName = 'demo';

const require = createRequire(path.resolve(process.env.SKALD_NODE_MODULES ?? '.', 'x.js'));

// The package, or nothing.
export function loadIfThere(name) {
  try {
    return require(name);
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    return undefined;
  }
}

// The package, or the end of the test.
export function load(name) {
  const loaded = loadIfThere(name);
  if (loaded) return loaded;
  console.log(`skipped: no npm package ${name} in SKALD_NODE_MODULES`);
  process.exit(77);
}

// Where a program of a package is, or nothing.
export function find(name) {
  const file = path.resolve(process.env.SKALD_NODE_MODULES ?? '.', 'node_modules', '.bin', name);
  return fs.existsSync(file) ? file : undefined;
}

// The demo model with a chat template that knows tools, in the form of Hermes.
function makeToolModel() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'skald-clients-'));
  for (const name of fs.readdirSync(demoModel)) {
    if (/\.(json|safetensors|model)$/.test(name)) fs.symlinkSync(path.join(demoModel, name), path.join(folder, name));
  }
  fs.writeFileSync(path.join(folder, 'chat_template.jinja'),
    '{%- if tools %}Tools: {{ tools | tojson }}\n<tool_call> has a name and arguments.\n{% endif %}' +
    '{%- for m in messages %}{{ m.role }}: {{ m.content }}' +
    '{%- for c in m.tool_calls or [] %}<tool_call>\n{{ c.function | tojson }}\n</tool_call>{% endfor %}\n' +
    '{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}');
  return folder;
}

class RunningServer {
  constructor(child, folder, url) {
    Object.assign(this, {child, folder, url});
  }

  // The value of a metric that has no labels.
  async metric(name) {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    return Number(text.split('\n').find(line => line.startsWith(`${name} `)).split(' ')[1]);
  }

  // Waits until no answer is being computed.
  async becomesIdle() {
    for (let tries = 0; tries < 1200; ++tries) {
      if (await this.metric('skald_requests_running') === 0) return;
      await new Promise(resolve => setTimeout(resolve, 50));
    }
    throw new Error('the answers go on');
  }

  async stop() {
    const end = new Promise(resolve => this.child.once('exit', resolve));
    this.child.kill('SIGTERM');
    const code = await end;
    fs.rmSync(this.folder, {recursive: true});
    if (code !== 0) throw new Error(`the server ended with ${code}`);
  }
}

// Serves a model that knows tools on a free port. `keys` are the lines of a file of API keys.
export async function startServer({keys, hasStrictNames = true, context = 2048} = {}) {
  const folder = makeToolModel();
  const given = ['serve', '--port', '0', '--no-packed-cache', '--model', folder, '--model-name', kModelName, '--max-context', `${context}`];
  if (hasStrictNames) given.push('--strict-model-names');
  if (keys) {
    const file = path.join(folder, 'keys.txt');
    fs.writeFileSync(file, keys.join('\n') + '\n');
    given.push('--api-keys', file);
  }
  const child = spawn(program, given, {stdio: ['ignore', 'inherit', 'pipe']});
  process.on('exit', () => child.kill());
  for await (const line of readline.createInterface({input: child.stderr})) {
    const found = line.match(/serving .* at (https?:\/\/[^\s\]]+)/);
    if (!found) continue;
    child.stderr.resume();
    return new RunningServer(child, folder, found[1]);
  }
  throw new Error('the server did not start');
}

// What tools and structured answers ask for in every test.
export const kWeatherSchema = {
  type: 'object',
  properties: {city: {type: 'string', maxLength: 8}, days: {type: 'integer'}},
  required: ['city', 'days'],
  additionalProperties: false,
};

export function checkWeather(value) {
  assert.deepEqual(Object.keys(value).sort(), ['city', 'days']);
  assert.ok(value.city.length <= 8 && Number.isInteger(value.days));
}
