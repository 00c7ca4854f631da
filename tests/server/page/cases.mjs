// SPDX-License-Identifier: Apache-2.0
//
// What a person does at the page. Those of kAnyServer say nothing about what a model answers.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {kMarkdown} from './texts.mjs';

const kSlow = 'Tell me slowly of the sea';
const kPhone = {width: 360, height: 740, hasTouch: true, isMobile: true, deviceScaleFactor: 2};

const switchText = person => person.text('.branches:not([hidden]) span');

async function setTokens(person, count) {
  await person.press('Settings');
  await person.page.waitForSelector('#settings[open]');
  await person.page.type('[name=max_tokens]', String(count));
  await person.press('Close', '#settings');
}

export const kAnyServer = {
  async 'send and stream'(person) {
    await setTokens(person, 60);
    await person.photograph('welcome');
    await person.say('Tell me of the sea');
    await person.until(() => document.querySelector('.assistant .text')?.textContent.length > 0);
    await person.answered();
    const [question, answer] = await person.messages();
    assert.equal(question, 'Tell me of the sea');
    assert.notEqual(answer, '');
    const figures = await person.text('.figures');
    assert.match(figures, /tokens\/s/);
    assert.match(figures, /prompt tokens cached/);
    assert.match(await person.text('#announcer'), /\S/, 'the answer is told to screen readers');
    assert.deepEqual(await person.texts('#conversations a'), ['Tell me of the sea']);
    assert.equal(await person.text('h1'), 'Tell me of the sea');
    await person.inspect();
    await person.photograph('answer');
  },

  // Even a fast model has hardly begun then: what is shown and what the server has must be the same nevertheless.
  async 'stop at once'(person) {
    await person.page.evaluate(() => new MutationObserver(() => {
      if (document.querySelector('#send').title !== 'Stop') return;
      document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}));
    }).observe(document.querySelector('#send'), {attributes: true}));
    await person.say('Tell me of the sea');
    await person.until(() => location.hash && document.querySelector('#send').title === 'Send');
    await person.until(() => document.querySelector('#conversations a'));
    await new Promise(resolve => setTimeout(resolve, 2000));
    const shown = await person.messages();
    await person.page.reload();
    await person.until(() => document.querySelector('#connection').dataset.state === 'ready');
    assert.deepEqual(await person.messages(), shown);
  },

  async 'edit, branch and switch'(person) {
    await setTokens(person, 20);
    await person.ask('First');
    await person.ask('Second');
    const before = await person.messages();
    await person.page.hover('.message:nth-child(3)');
    await person.press('Edit in a new branch', '.message:nth-child(3)');
    await person.page.waitForSelector('.edit textarea');
    assert.equal(await person.focus(), 'Edit the message');
    await person.chord('Control', 'a');
    await person.page.keyboard.type('Other');
    await person.photograph('editing');
    await person.press('Send as a new branch');
    // The branch that was shown has as many messages, all answered.
    await person.until(() => document.querySelectorAll('.message .text')[2]?.textContent === 'Other');
    await person.until(() => document.querySelectorAll('.message').length === 4);
    await person.answered();
    assert.equal((await person.messages())[2], 'Other');
    assert.equal(await switchText(person), '2 / 2');
    await person.photograph('branches');
    assert.equal((await person.texts('#conversations a')).length, 1, 'branches are one conversation');

    await person.press('Earlier branch');
    await person.until(() => document.querySelector('.branches:not([hidden]) span')?.textContent === '1 / 2');
    assert.deepEqual(await person.messages(), before);
    assert.equal(await person.focus(), 'Later branch', 'the focus stays at the switch');

    await person.press('Another answer, in a new branch', '.message:nth-child(2)');
    await person.until(() => document.querySelectorAll('.message').length === 2);
    await person.answered();
    assert.equal(await switchText(person), '2 / 2');
    await person.press('Earlier branch');
    await person.until(() => document.querySelectorAll('.branches:not([hidden])').length === 2);

    await person.page.reload();
    await person.until(() => document.querySelectorAll('.message').length === 4);
    assert.deepEqual(await person.messages(), before);
    assert.deepEqual(await person.texts('.branches:not([hidden]) span'), ['1 / 2', '1 / 2']);

    await person.press('Edit in a new branch', '.message:nth-child(1)');
    await person.page.waitForSelector('.edit textarea');
    await person.page.keyboard.press('Escape');
    assert.equal(await person.focus(), 'Edit in a new branch');

    await person.press('This conversation');
    await person.press('Delete this branch');
    await person.press('Delete', 'dialog');
    await person.until(() => document.querySelectorAll('.branches:not([hidden])').length < 2);
    assert.equal((await person.texts('#conversations a')).length, 1);
  },

  async 'reload, rename, export, import, delete'(person) {
    await setTokens(person, 20);
    await person.ask('A song, please');
    const before = await person.messages();
    await person.page.reload();
    await person.until(() => document.querySelectorAll('.message').length === 2);
    assert.deepEqual(await person.messages(), before);
    assert.equal(await person.page.$eval('[name=max_tokens]', input => input.value), '20', 'settings are kept');
    assert.match(await person.text('.figures'), /tokens\/s/, 'figures are kept');
    assert.ok(await person.count('.assistant .token') > 3, 'probabilities are kept');

    await person.press('This conversation');
    await person.press('Rename');
    await person.page.waitForSelector('dialog.ask');
    await person.page.keyboard.type('The song');
    await person.photograph('rename');
    await person.inspect();
    await person.keys('Enter');
    await person.until(() => document.querySelector('h1').textContent === 'The song');

    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'skald-page-'));
    const session = await person.page.createCDPSession();
    await session.send('Browser.setDownloadBehavior', {behavior: 'allow', downloadPath: folder, browserContextId: person.context.id});
    await person.press('This conversation');
    await person.press('Export with what is computed');
    const file = path.join(folder, 'The-song.skald');
    for (let tries = 0; tries < 600 && !fs.existsSync(file); ++tries) await new Promise(resolve => setTimeout(resolve, 100));
    const before_ids = await person.page.$$eval('#conversations a', all => all.map(link => link.hash));
    await (await person.page.$('#import-file')).uploadFile(file);
    await person.until(ids => !ids.includes(location.hash), before_ids);
    fs.rmSync(folder, {recursive: true});
    await person.until(() => document.querySelectorAll('.message').length === 2);
    assert.deepEqual(await person.messages(), before);
    const after = await person.count('#conversations a');
    assert.equal(after, before_ids.length + 1);

    await person.press('This conversation');
    await person.press('Delete the conversation');
    await person.press('Delete', 'dialog');
    await person.until(count => document.querySelectorAll('#conversations a').length === count, after - 1);
    await person.until(() => document.querySelectorAll('.message').length === 0);
    await person.page.click('#conversations a');
    await person.until(() => document.querySelectorAll('.message').length === 2);
    await person.page.goBack();
    await person.until(() => document.querySelectorAll('.message').length === 0);
  },

  async 'settings'(person) {
    await person.press('Settings');
    await person.page.waitForSelector('#settings[open]');
    await person.photograph('settings');
    await person.inspect();
    for (const [name, value] of [['temperature', '0'], ['seed', '7'], ['max_tokens', '12']]) await person.page.type(`[name=${name}]`, value);
    await person.page.click('[name=thoughts][value=no]');
    await person.press('Close', '#settings');
    const sent = person.page.waitForRequest(request => request.url().endsWith('/v1/chat/completions'));
    await person.ask('Hello');
    const {temperature, seed, max_tokens: most, top_p: topP, chat_template_kwargs: variables} = JSON.parse((await sent).postData());
    assert.deepEqual([temperature, seed, most, topP, variables], [0, 7, 12, undefined, {enable_thinking: false}]);
    await person.press('Settings');
    await person.press('Back to the defaults');
    assert.deepEqual(await person.page.$$eval('#sampling input', all => all.map(input => input.value).filter(Boolean)), []);
    await person.page.click('[name=theme][value=dark]');
    await person.keys('Escape');
    assert.equal(await person.page.$eval('body', body => getComputedStyle(body).backgroundColor), 'rgb(25, 25, 23)');
  },

  async 'probabilities'(person) {
    await setTokens(person, 40);
    await person.ask('Count');
    await person.page.hover('.assistant .token:nth-of-type(2)');
    await person.page.waitForSelector('#tip:not([hidden])');
    assert.match(await person.text('#tip'), /%/);
    assert.ok(await person.count('#tip li') >= 5);
    await person.photograph('probabilities');
    await person.page.mouse.move(5, 5);
    await person.page.waitForSelector('#tip', {hidden: true});

    await person.press('Tokens and their probabilities');
    await person.page.waitForSelector('#tip:not([hidden])');
    assert.equal(await person.focus(), 'Token');
    const first = await person.page.$eval('.slider input', input => input.getAttribute('aria-valuetext'));
    await person.keys('ArrowRight', 'ArrowRight');
    const third = await person.page.$eval('.slider input', input => input.getAttribute('aria-valuetext'));
    assert.match(third, /%.*instead/);
    assert.notEqual(first, third);
    await person.photograph('tokens');
    await person.inspect();
  },

  async 'keyboard only'(person) {
    await person.until(() => document.querySelector('#connection').dataset.state === 'ready');
    await setTokens(person, 60);
    await person.page.focus('.skip');
    await person.photograph('skip');
    await person.keys('Enter');
    assert.equal(await person.focus(), 'Message');
    await person.page.keyboard.type('Tell me');
    await person.chord('Shift', 'Enter');
    await person.page.keyboard.type('please');
    await person.keys('Enter');
    await person.answered();
    assert.equal(await person.focus(), 'Message');
    assert.equal((await person.messages())[0], 'Tell me\nplease');

    const seen = [];
    while (seen.length < 12 && seen[0] !== 'Edit in a new branch') {
      await person.chord('Shift', 'Tab');
      seen.unshift(await person.focus());
    }
    assert.deepEqual(seen, ['Edit in a new branch', 'Copy', 'Continue', 'Copy', 'Edit the answer', 'Another answer, in a new branch',
                            'Tokens and their probabilities', 'Attach text files']);
    await person.photograph('keyboard-focus');
    await person.keys('Enter');
    await person.page.keyboard.type('!');
    await person.keys('Escape');
    assert.equal(await person.focus(), 'Edit in a new branch');
    await person.page.evaluate(() => localStorage.clear());
  },

  async 'files'(person) {
    await setTokens(person, 20);
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'skald-page-'));
    const write = (name, bytes) => {
      fs.writeFileSync(path.join(folder, name), bytes);
      return path.join(folder, name);
    };
    const input = await person.page.$('#attach-files');
    const code = 'print("```")\n';
    await input.uploadFile(write('oars.py', code), write('crew.txt', 'nine\nmen'), write('ship.bin', Buffer.from([0, 1, 2, 255])));
    await person.until(() => document.querySelectorAll('#attached li').length === 2);
    await person.page.waitForSelector('#failure p');
    assert.match(await person.text('#failure'), /ship\.bin is no text/);
    await person.photograph('attached');
    await person.inspect();
    await person.page.evaluate(() => {
      const data = new DataTransfer();
      data.setData('text', 'a line\n'.repeat(1000));
      document.querySelector('#prompt').dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
    });
    await person.see('Remove pasted-1.txt');
    await person.press('Remove pasted-1.txt');
    await person.ask('What is this?');
    assert.equal(await person.count('#attached li'), 0);
    assert.deepEqual(await person.texts('.user .file span'), ['oars.py', 'crew.txt']);
    assert.deepEqual(await person.texts('.user .file pre'), [code.trim(), 'nine\nmen']);
    assert.equal((await person.messages())[0], 'What is this?');
    await person.page.click('.user .file summary');
    await person.photograph('files');
    await person.page.hover('.message:first-child');
    await person.press('Edit in a new branch', '.message:first-child');
    await person.page.keyboard.type(' Or that?');
    await person.keys('Enter');
    await person.until(() => document.querySelector('.branches:not([hidden]) span')?.textContent === '2 / 2');
    await person.answered();
    assert.deepEqual(await person.texts('.user .file span'), ['oars.py', 'crew.txt'], 'the files stay with an edited message');
    fs.rmSync(folder, {recursive: true});
  },

  async 'an answer edited and continued'(person) {
    await setTokens(person, 8);
    await person.ask('Tell me of the sea');
    const [, cut] = await person.messages();
    await person.photograph('cut');
    await person.press('Continue');
    await person.until(text => document.querySelector('.assistant .text').textContent.length > text.length, cut);
    await person.answered();
    const [, whole] = await person.messages();
    assert.ok(whole.startsWith(cut.trimEnd()), whole);
    assert.equal(await person.count('.message'), 2);
    await person.press('Edit the answer');
    await person.chord('Control', 'a');
    await person.page.keyboard.type('The sea is *wide*.');
    await person.press('Keep as a new branch');
    await person.until(() => document.querySelector('.assistant em')?.textContent === 'wide');
    assert.equal(await switchText(person), '2 / 2');
    await person.ask('And then?');
    assert.equal((await person.messages())[1], 'The sea is wide.');
    await person.press('Earlier branch');
    await person.until(text => document.querySelector('.assistant .text').textContent === text, whole);
  },

  async 'folders, search, exports'(person) {
    await setTokens(person, 8);
    await person.ask('Of ships');
    await person.press('New conversation', '#sidebar');
    await person.ask('Of crews');
    await person.press('This conversation');
    await person.press('Rename');
    await person.page.waitForSelector('dialog.ask');
    await person.keys('Tab');
    await person.page.keyboard.type('Voyages');
    await person.keys('Enter');
    await person.until(() => document.querySelector('.folder summary')?.textContent === 'Voyages');
    assert.deepEqual(await person.texts('.folder a'), ['Of crews']);
    assert.equal(await person.text('h1'), 'Of crews');
    assert.deepEqual(await person.texts('#conversations .day'), ['Today']);
    await person.photograph('folders');
    await person.inspect();
    await person.page.type('#search', 'SHIP');
    assert.deepEqual(await person.texts('#conversations a'), ['Of ships']);
    await person.keys('Escape');
    assert.equal((await person.texts('#conversations a')).length, 2);

    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'skald-page-'));
    const session = await person.page.createCDPSession();
    await session.send('Browser.setDownloadBehavior', {behavior: 'allow', downloadPath: folder, browserContextId: person.context.id});
    for (const kind of ['Markdown', 'JSON']) {
      await person.press('This conversation');
      await person.press(`Export as ${kind}`);
    }
    const read = async name => {
      const file = path.join(folder, name);
      for (let tries = 0; tries < 600 && !fs.existsSync(file); ++tries) await new Promise(resolve => setTimeout(resolve, 100));
      return fs.readFileSync(file, 'utf8');
    };
    assert.match(await read('Of-crews.md'), /^# Of crews\n\n## You\n\nOf crews\n\n## Answer\n\n\s*\S/);
    assert.equal(JSON.parse(await read('Of-crews.json')).messages.length, 2);
    await (await person.page.$('#import-file')).uploadFile(path.join(folder, 'Of-crews.json'));
    await person.until(() => document.querySelectorAll('#conversations a').length === 3);
    fs.rmSync(folder, {recursive: true});
    assert.equal((await person.messages())[0], 'Of crews');
  },

  async 'phone'(person) {
    await person.page.setViewport(kPhone);
    await setTokens(person, 60);
    await person.ask('Tell me of the sea');
    await person.photograph('phone');
    const fits = () => person.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth &&
                                                  document.querySelector('#scroller').scrollWidth <= innerWidth);
    assert.ok(await fits());
    await person.inspect();
    await person.page.tap('button.menu');
    await person.page.waitForSelector('#sidebar:popover-open');
    await person.photograph('phone-list');
    await (await person.see('New conversation', '#sidebar')).tap();
    await person.page.waitForSelector('#sidebar', {hidden: true});
    assert.equal(await person.count('.message'), 0);
    await person.page.tap('#open-settings');
    await new Promise(resolve => setTimeout(resolve, 500));
    await person.photograph('phone-settings');
    assert.ok(await fits());
  },

  async 'dark'(person) {
    await person.page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: 'dark'}]);
    await setTokens(person, 200);
    await person.ask('Tell me of the sea');
    await person.inspect();
    await person.photograph('dark');
    await person.page.setViewport(kPhone);
    await person.until(() => document.querySelectorAll('.message').length === 2);
    await person.photograph('phone-dark');
  },
};

export const kMockOnly = {
  async 'conversations of other clients'(person, server) {
    const call = {id: 'call_1', type: 'function', function: {name: 'row', arguments: '{"strokes": 3, "side": "port"}'}};
    const response = await fetch(`${server.url}/v1/conversations`, {
      method: 'POST', headers: {'Content-Type': 'application/json'},
      body: JSON.stringify({messages: [{role: 'user', content: 'Row three strokes'},
                                       {role: 'assistant', content: '', reasoning_content: 'They want rowing.', tool_calls: [call]},
                                       {role: 'tool', tool_call_id: 'call_1', content: 'done'},
                                       {role: 'assistant', content: 'The boat has moved to the *left*.'}]}),
    });
    await response.json();
    await person.page.reload();
    await person.until(() => document.querySelector('#conversations a')?.textContent === 'Row three strokes');
    await person.page.click('#conversations a');
    await person.until(() => document.querySelectorAll('.message').length === 4);
    await person.page.click('.call summary');
    assert.equal(await person.text('.calls summary'), 'Calls row');
    assert.match(await person.text('.calls pre'), /"strokes": 3,\n/);
    assert.equal(await person.text('.tool summary'), 'Result of row');
    await person.photograph('tool-calls');
    await person.inspect();
    await person.press('New conversation', '#sidebar');
    await person.ask('Other');
    await person.page.type('#search', 'moved to');
    await person.until(() => document.querySelectorAll('#conversations a').length === 1);
    assert.deepEqual(await person.texts('#conversations a'), ['Row three strokes'], 'texts are searched too');
  },

  async 'stop'(person) {
    await setTokens(person, 4000);
    await person.say(kSlow);
    await person.until(() => document.querySelectorAll('.assistant .token').length > 3);
    await person.photograph('streaming');
    await person.page.waitForFunction(() => document.querySelector('#send').title === 'Stop');
    await new Promise(resolve => setTimeout(resolve, 500));
    await person.press('Stop');
    await person.answered();
    assert.match(await person.text('.figures'), /stopped/);
    await person.photograph('stopped');
    const [, answer] = await person.messages();
    await new Promise(resolve => setTimeout(resolve, 1500));
    await person.page.reload();
    await person.until(() => document.querySelectorAll('.message').length === 2);
    assert.equal((await person.messages())[1], answer, 'the server has what was shown');
    await person.page.evaluate(() => localStorage.clear());
  },

  async 'a system prompt'(person) {
    await person.press('Settings');
    await person.page.type('#system', 'Be brief.');
    await person.photograph('settings-below');
    await person.press('Close', '#settings');
    await person.ask('Hello');
    assert.deepEqual((await person.messages()).slice(0, 2), ['Be brief.', 'Hello']);
    await person.page.click('.system summary');
    await person.press('Edit the system prompt');
    await person.page.keyboard.type(' And kind.');
    await person.photograph('system-prompt');
    await person.press('Use in a new branch');
    await person.until(() => document.querySelector('.system .text')?.textContent === 'Be brief. And kind.');
    assert.equal(await person.count('.message'), 3, 'what was said stays');
    assert.equal(await switchText(person), '2 / 2');
    await person.inspect();
    await person.press('This conversation');
    await person.press('System prompt', '#actions');
    await person.page.waitForSelector('dialog.ask textarea');
    await person.photograph('system-dialog');
    await person.chord('Control', 'a');
    await person.keys('Backspace');
    await person.press('Use', 'dialog.ask');
    await person.until(() => document.querySelectorAll('.message').length === 2);
    assert.equal((await person.messages())[0], 'Hello');
    assert.equal(await switchText(person), '3 / 3');
  },

  async 'another model'(person) {
    await person.press('Settings');
    await person.page.select('#model-choice', 'mock-poet');
    await person.photograph('models');
    await person.inspect();
    await person.press('Close', '#settings');
    assert.equal(await person.text('#model'), 'mock-poet');
    await person.page.click('#model');
    await person.until(() => document.activeElement.id === 'model-choice');
    await person.press('Close', '#settings');
    await person.page.reload();
    const sent = person.page.waitForRequest(request => request.url().endsWith('/v1/chat/completions'));
    await person.ask('Hello');
    assert.equal(JSON.parse((await sent).postData()).model, 'mock-poet');
    assert.match(await person.text('.figures'), /^mock-poet/);
  },

  async 'Escape stops'(person) {
    await person.say(kSlow);
    await person.until(() => document.querySelectorAll('.assistant .token').length > 3);
    await person.keys('Escape');
    await person.answered();
    assert.match(await person.text('.figures'), /stopped/);
  },

  async 'an answer as text'(person) {
    await person.ask('<b>runes</b>');
    assert.equal(await person.page.title(), '<b>runes</b> \u2013 Skald');
    assert.equal(await person.count('.message img, .message b'), 0);
    assert.match(await person.text('.assistant .text'), /<img src=x/);
    assert.deepEqual(await person.texts('.assistant :is(strong, em)'), ['northern', 'song']);
    assert.equal(await person.count('.assistant ol > li > ul > li'), 2);
    assert.equal(await person.text('pre code'),
                 'def row(strokes):\n    for stroke in range(strokes):\n        print("heave", stroke)');
    assert.equal(await person.text('.assistant h3'), 'And then');
    const tokens = await person.texts('.assistant .token');
    assert.ok(tokens.includes('\u{1f9ed}'), 'tokens that are a character together are one');
    await person.page.$eval('.markdown', node => node.scrollIntoView());
    await person.photograph('markdown');
    await person.page.evaluate(() => document.documentElement.classList.add('marks'));
    await person.photograph('marks');
  },

  async 'markdown'(person) {
    await person.ask('markdown, please');
    const texts = selector => person.texts(`.assistant ${selector}`);
    assert.deepEqual(await texts('th'), ['Oars', 'Speed', 'Crew\nneeded']);
    assert.deepEqual(await texts('tbody tr:first-child td'), ['8', '3.5', 'nine & a boy']);
    assert.deepEqual(await person.page.$$eval('.assistant th', all => all.map(cell => getComputedStyle(cell).textAlign)),
                     ['left', 'right', 'center']);
    assert.deepEqual(await person.page.$$eval('.assistant .text a', all => all.map(({href, target, rel}) => `${href} ${target} ${rel}`)),
                     ['winds', 'log', 'far.png'].map(name => `https://example.com/${name} _blank noopener noreferrer`));
    assert.deepEqual(await texts('blockquote li'), ['the helmsman']);
    assert.deepEqual(await person.page.$$eval('.task input', all => all.map(box => box.checked)), [true, false]);
    assert.deepEqual(await texts('s'), ['sails']);
    assert.equal((await texts('.math .katex')).length, 4);
    assert.equal((await texts('.katex-display')).length, 2);
    assert.match(await person.text('.assistant .text'), /it costs \$5 or \$10/);
    assert.deepEqual(await texts('figcaption span'), ['cpp', 'diff']);
    assert.ok((await texts('.hljs-comment')).includes('// The keel first.'));
    assert.equal(await person.count('.assistant .text img'), 1);
    // Every token that is shown keeps what the model thought of it, within links, cells and code too.
    for (const token of ['hard', 'winds', 'boy', 'Count']) {
      assert.ok((await texts('.token')).some(text => text.trim() === token), token);
    }
    await person.inspect();
    await person.page.setViewport({width: 1200, height: 2000});
    await person.photograph('markdown-all');
    await person.page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: 'dark'}]);
    await person.inspect();
    await person.photograph('markdown-dark');
    await person.page.setViewport({...kPhone, height: 2600});
    await person.until(() => document.querySelectorAll('.message').length === 2);
    assert.ok(await person.page.evaluate(() => document.querySelector('#scroller').scrollWidth <= innerWidth));
    await person.photograph('markdown-phone');
  },

  async 'hostile markdown'(person) {
    const dialogs = [];
    person.page.on('dialog', dialog => { dialogs.push(dialog.message()); dialog.dismiss(); });
    await person.ask('hostile');
    assert.equal(await person.page.title(), 'hostile \u2013 Skald');
    assert.deepEqual(dialogs, []);
    assert.deepEqual(await person.page.$$eval('.assistant .text *', all => all.filter(node => (
      /^(script|iframe|form|input|style|object|embed|link|meta|base|img)$/i.test(node.tagName) ||
      [...node.attributes].some(({name, value}) => /^on|^id$|^name$|^srcdoc$/i.test(name) || /(javascript|vbscript|data|file):/i.test(value)))
    ).map(node => node.outerHTML)), []);
    assert.deepEqual(await person.page.$$eval('.assistant .text a', all => all.map(link => link.protocol).filter(each => each !== 'https:')), []);
    const told = await person.text('.assistant .text');
    assert.match(told, /<script>document\.title = 'broken'<\/script>/);
    assert.match(told, /\[a\]\(javascript:/);
    assert.match(told, /deep\]+\s*\*+a_+/, 'nothing is lost');
    await person.photograph('hostile');
    await person.ask('deep');
    assert.match((await person.messages())[3], /^>+ deep[^]*deep\s+Its end\.$/);
  },

  async 'a long conversation'(person, server) {
    const messages = Array.from({length: 100}, (_, i) => [{role: 'user', content: `Part ${i}`}, {role: 'assistant', content: kMarkdown}]).flat();
    const response = await fetch(`${server.url}/v1/conversations`, {
      method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({title: 'Long', messages})});
    const {id} = await response.json();
    await person.page.reload();
    await person.until(() => document.querySelector('#conversations a'));
    await person.page.goto(`${server.url}/#${id}`);
    await person.until(() => document.querySelectorAll('.message').length === 200);
    await person.ask('And now?');
    await person.photograph('long');
    const isHidden = () => person.page.$eval('#to-end', node => node.hidden);
    assert.equal(await isHidden(), true, 'the end is shown');
    await person.page.$eval('#scroller', node => node.scrollTo(0, 0));
    await person.until(() => !document.querySelector('#to-end').hidden);
    await person.press('New conversation', '#sidebar');
    await person.until(() => document.querySelectorAll('.message').length === 0);
    assert.equal(await isHidden(), true, 'where nothing is, its end is shown');
  },

  async 'reasoning'(person) {
    await person.say('think slowly of a song');
    await person.page.waitForSelector('.reasoning:not([hidden])');
    await person.photograph('thinking');
    await person.page.click('.reasoning summary');
    await person.until(() => document.querySelector('.assistant .text')?.textContent.length > 20);
    assert.match(await person.text('.reasoning summary'), /Thought for \d/);
    assert.match(await person.text('.reasoning .markdown'), /They ask for a song/);
    assert.deepEqual((await person.texts('.reasoning .token')).slice(0, 3), ['They', ' ask', ' for']);
    await person.photograph('reasoning');
  },

  async 'a long prompt'(person) {
    await person.say('wait for it');
    await person.until(() => document.querySelector('.waiting')?.hidden === false);
    await person.photograph('waiting');
    await person.answered();
    assert.equal(await person.page.$eval('.waiting', node => node.hidden), true);
  },

  async 'errors'(person) {
    person.expected.push(/400 \(Bad Request\)/, /ERR_/);
    await person.say('please break');
    await person.page.waitForSelector('#failure p');
    assert.match(await person.text('#failure'), /the mock broke off/);
    assert.match((await person.messages())[1], /northern/);
    await person.photograph('error');
    await person.inspect();
    await person.press('Try again');
    await person.until(() => document.querySelector('.branches:not([hidden]) span')?.textContent === '2 / 2');
    await person.page.waitForSelector('#failure p');

    await person.press('New conversation', '#sidebar');
    await person.say('refuse this');
    await person.page.waitForSelector('#failure p');
    assert.match(await person.text('#failure'), /refuses/);
    await person.until(() => document.querySelector('#prompt').value === 'refuse this');
    assert.equal(await person.count('.message'), 0);

    await person.press('New conversation', '#sidebar');
    await person.chord('Control', 'a');
    await person.say('vanish now');
    await person.page.waitForSelector('#failure p');
    assert.match(await person.text('#failure'), /connection broke/);
    assert.equal(await person.count('.message'), 2);
  },

  async 'loading and gone'(person, server) {
    person.expected.push(/503/, /ERR_/);
    server.set({loading: true});
    await person.page.reload();
    await person.page.waitForSelector('#connection[data-state=loading]');
    await person.write('Hello');
    await person.photograph('loading');
    await person.inspect();
    server.set({loading: false});
    await person.page.waitForSelector('#connection[data-state=ready]');
    await person.keys('Enter');
    await person.answered();

    server.set({gone: true});
    await person.say('Are you there?');
    await person.page.waitForSelector('#connection[data-state=gone]');
    await person.photograph('gone');
    server.set({gone: false});
    await person.press('Try again', '#connection');
    await person.page.waitForSelector('#connection[data-state=ready]');
    await person.until(() => document.querySelector('#prompt').value === 'Are you there?');
    assert.equal(await person.count('.message'), 2);
  },

  async 'a key'(person, server) {
    person.expected.push(/401/);
    server.set({key: 'rune'});
    await person.page.reload();
    await person.page.waitForSelector('dialog.ask');
    await person.page.keyboard.type('wrong');
    await person.keys('Enter');
    await person.until(() => /does not know/.test(document.querySelector('dialog.ask')?.textContent));
    await person.photograph('key');
    await person.page.keyboard.type('rune');
    await person.keys('Enter');
    await person.page.waitForSelector('dialog.ask', {hidden: true});
    await person.ask('Hello');
    await person.page.reload();
    await person.until(() => document.querySelectorAll('.message').length === 2);
  },

  async 'two at once'(person) {
    await person.say(kSlow);
    await person.until(() => document.querySelectorAll('.assistant .token').length > 3);
    await person.press('New conversation', '#sidebar');
    await person.until(() => document.querySelectorAll('.message').length === 0);
    await person.ask('Another');
    await person.page.waitForSelector('#conversations .busy');
    await person.photograph('two-at-once');
    await person.page.click('#conversations .busy');
    await person.until(() => document.querySelector('.user .text')?.textContent.includes('slowly'));
    await person.press('Stop');
    await person.answered();
  },
};
