// SPDX-License-Identifier: Apache-2.0
//
// The chat page in a real browser: what a person does with mouse, keyboard and telephone.
//
//   SKALD_NODE_MODULES=DIR node page_test.mjs [--only WORDS] [--screenshots DIR] [--libraries DIR] [PROGRAM ARGUMENT...]
//
// DIR is where `npm install puppeteer-core` was called (axe-core is used if it is there too); Chromium is that of the
// system, or SKALD_CHROMIUM. With a program, which starts a server on the port that replaces {port} in its arguments,
// the page is tested with that, else with mock_server.mjs, which can also fail and think, and needs the page's libraries
// (examples/page/libraries of a build). Exits with 77 if something is missing.
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import net from 'node:net';
import path from 'node:path';
import {Person} from './person.mjs';
import {startMockServer} from './mock_server.mjs';
import {kAnyServer, kMockOnly} from './cases.mjs';

function parse([...rest]) {
  const settings = {only: '', screenshots: '', libraries: ''};
  while (rest[0]?.slice(2) in settings) settings[rest.shift().slice(2)] = rest.shift();
  return {...settings, command: rest};
}

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

const settings = parse(process.argv.slice(2));
const require = createRequire(path.resolve(process.env.SKALD_NODE_MODULES ?? '.', 'x.js'));
const load = name => { try { return require(name); } catch { return null; } };
const puppeteer = load('puppeteer-core');
if (!puppeteer) skip('no npm package puppeteer-core in SKALD_NODE_MODULES');
const chromium = [process.env.SKALD_CHROMIUM, '/usr/bin/chromium', '/usr/bin/google-chrome'].find(file => file && fs.existsSync(file));
if (!chromium) skip('no Chromium');

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const {port} = server.address();
  await new Promise(resolve => server.close(resolve));
  return port;
}

async function startProgram([program, ...given]) {
  const port = await freePort();
  const child = spawn(program, given.map(argument => argument.replaceAll('{port}', port)), {stdio: 'inherit'});
  process.on('exit', () => child.kill());
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 600 && child.exitCode === null; ++tries) {
    const {status} = await fetch(`${url}/health`).catch(() => ({}));
    if (status === 200) return {url, close: () => child.kill()};
    await new Promise(resolve => setTimeout(resolve, 100));
  }
  throw new Error(`${program} does not answer on port ${port}`);
}

// Every test begins on an empty server.
async function forgetAll({url}) {
  const {data} = await (await fetch(`${url}/v1/conversations`)).json();
  for (const {id} of data) await fetch(`${url}/v1/conversations/${id}`, {method: 'DELETE'});
}

const isMock = settings.command.length === 0;
if (isMock && !fs.existsSync(path.join(settings.libraries, 'markdown-it.js'))) skip("the page's libraries are not there");
// A browser without a screen believes that it has no mouse.
const mouse = '--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4';
const browser = await puppeteer.launch({executablePath: chromium, args: ['--no-sandbox', mouse]});
const axe = load('axe-core')?.source;
if (settings.screenshots) fs.mkdirSync(settings.screenshots, {recursive: true});
const shared = isMock ? null : await startProgram(settings.command);
let failed = 0;
for (const [name, test] of Object.entries({...kAnyServer, ...(isMock ? kMockOnly : {})})) {
  if (!name.includes(settings.only)) continue;
  const server = shared ?? await startMockServer(settings);
  await forgetAll(server);
  const person = await Person.arrive({browser, server, axe, screenshots: settings.screenshots});
  try {
    await test(person, server);
    person.checkComplaints();
    console.log(`passed  ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAILED  ${name}: ${error.stack}`);
    await person.photograph(`failed-${name.replaceAll(' ', '-')}`);
  }
  await person.leave();
  if (!shared) server.close();
}
await browser.close();
shared?.close();
console.log(failed ? `${failed} failed` : 'all passed');
process.exit(failed ? 1 : 0);
