// SPDX-License-Identifier: Apache-2.0
//
// Compares ids of random texts with those of Hugging Face's own library, and the speed of both on one text:
//
//   npm install --prefix DIR @anush008/tokenizers
//   node compare_random.mjs --library DIR --program build/release/tests/token_ids [--count 200000] [--seed 1]
//     [--text FILE] tokenizer.json...
//
// Exits with 77 and says so if the library is not there. Random texts are made of parts that split patterns tell apart,
// of characters whose categories no version of Unicode from 6 on has changed.
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';

const settings = {library: '.', program: 'build/release/tests/token_ids', count: '200000', seed: '1', text: ''};
const files = [];
for (let i = 2; i < process.argv.length; ++i) {
  const name = process.argv[i].replace(/^--/, '');
  if (process.argv[i].startsWith('--') && name in settings) settings[name] = process.argv[++i];
  else files.push(process.argv[i]);
}

function library() {
  try {
    return createRequire(path.resolve(settings.library, 'x.js'))('@anush008/tokenizers').Tokenizer;
  } catch {
    console.log(`skipped: no npm package @anush008/tokenizers in ${settings.library}`);
    process.exit(77);
  }
}

// Numbers from 0 to 2^32 - 1 (Vigna's splitmix, in 32 bits).
let state = Number(settings.seed) >>> 0;
function random(below) {
  state = (state + 0x9e3779b9) >>> 0;
  let z = state;
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return ((z ^ (z >>> 15)) >>> 0) % below;
}

const words = ["'s", "'S", "'t", "'re", "'RE", "'Ve", "'m", "'ll", "'lL", "'D", "'\u017f", " '", '\r\n', '\n\n', '   ',
  ' \n ', '//', '/\n', 'word', ' Word', 'WORD', 'camelCase', '12345', ' 7', 'http://x.y/z', '...', ' !?', ' the', 'ing',
  '<s>', '<|im_end|>', '<|eot_id|>', 'strawberry', ' internationalisation', 'aaaaaaaa'];
const characters = [
  0x85, 0xa0, 0x1680, 0x2000, 0x2005, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0x200b, 0x200d, 0xfeff, 0xad,
  0x2060, 0xe000, 0xfffd, 0xffff, 0xe0001, 0x80, 0x9f, 0xaa, 0xb5, 0xdf, 0xe9, 0xc9, 0x130, 0x131, 0x17f, 0x212a, 0x1c5,
  0x1f88, 0x2b0, 0x3c3, 0x3a3, 0x416, 0x436, 0x5d0, 0x627, 0x905, 0xe01, 0x4e2d, 0x6587, 0x3042, 0xac00, 0x1d400,
  0x10400, 0x10428, 0x20000, 0x16a0, 0x2d00, 0xfb01, 0x301, 0x308, 0x323, 0x93e, 0x903, 0x20dd, 0xfe0f, 0x64b, 0xe31,
  0x1d165, 0x660, 0x967, 0xb2, 0xbd, 0x2167, 0x2460, 0x3007, 0xff11, 0x1d7d8, 0x10107, 0x2013, 0x2019, 0x3001, 0xa1,
  0x20ac, 0x2211, 0xb4, 0x1f600, 0x1f3fd, 0x2764, 0x5f3];
const parts = [...words, ...characters.map(c => String.fromCodePoint(c)),
  ...Array.from({length: 127}, (_, c) => String.fromCharCode(c))];

function randomText() {
  let text = '';
  for (let count = random(14); count > 0; --count) {
    text += parts[random(parts.length)].repeat(random(4) === 0 ? random(5) : 1);
  }
  return text;
}

async function compare(Tokenizer, file, texts) {
  const reference = Tokenizer.fromString(fs.readFileSync(file, 'utf8'));
  const lines = execFileSync(settings.program, [file],
    {input: texts.map(t => JSON.stringify(t)).join('\n') + '\n', maxBuffer: 2 ** 31 - 1}).toString().split('\n');
  let differences = 0;
  for (let i = 0; i < texts.length; ++i) {
    const ids = (await reference.encode(texts[i], null, {addSpecialTokens: false})).getIds().join(' ');
    if (ids === lines[i]) continue;
    if (++differences <= 5) console.log(`  ${JSON.stringify(texts[i])}\n    theirs: ${ids}\n    ours:   ${lines[i]}`);
  }
  console.log(`${file}: ${texts.length} random texts, ${differences} differ`);
  return {reference, differences};
}

// Both on one core, the best of five times. Theirs gets the text in pieces, which suits it better than the whole.
async function compareSpeed(reference, file) {
  const text = fs.readFileSync(settings.text, 'utf8');
  const pieces = text.match(/[^]{1,10000}/g);
  let theirs = Infinity;
  for (let i = 0; i < 5; ++i) {
    const start = performance.now();
    for (const piece of pieces) await reference.encode(piece, null, {addSpecialTokens: false});
    theirs = Math.min(theirs, (performance.now() - start) / 1000);
  }
  const ours = Number(execFileSync(settings.program, [file, '--time', settings.text]).toString());
  const speed = seconds => (fs.statSync(settings.text).size / seconds / 1e6).toFixed(1) + ' MB/s';
  console.log(`${file}: ours ${speed(ours)}, theirs ${speed(theirs)}, ratio ${(theirs / ours).toFixed(1)}`);
}

const Tokenizer = library();
const texts = Array.from({length: Number(settings.count)}, randomText);
let failed = false;
for (const file of files) {
  const {reference, differences} = await compare(Tokenizer, file, texts);
  failed ||= differences > 0;
  if (settings.text !== '') await compareSpeed(reference, file);
}
process.exit(failed ? 1 : 0);
