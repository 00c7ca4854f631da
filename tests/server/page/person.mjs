// SPDX-License-Identifier: Apache-2.0
//
// Somebody at the page: finds things by the names that a screen reader says, waits as a person does.
import assert from 'node:assert/strict';
import path from 'node:path';

const kWait = 30000;

export class Person {
  static async arrive({browser, server, axe, screenshots}) {
    const person = new Person();
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    Object.assign(person, {context, page, server, axe, screenshots, complaints: [], expected: []});
    await page.setViewport({width: 1200, height: 800});
    page.on('pageerror', error => person.complaints.push(String(error)));
    page.on('console', message => { if (message.type() === 'error') person.complaints.push(message.text()); });
    page.on('request', request => {
      if (!request.url().startsWith(server.url) && !/^(blob|data):/.test(request.url())) person.complaints.push(`asked another host: ${request.url()}`);
    });
    page.setDefaultTimeout(kWait);
    await page.goto(server.url);
    return person;
  }

  async leave() {
    await this.context.close();
  }

  /** Errors on the browser's console, but for those that the test expects. */
  checkComplaints() {
    assert.deepEqual(this.complaints.filter(text => !this.expected.some(pattern => pattern.test(text))), []);
  }

  /** The first visible element that a screen reader calls `name`; `within` is a CSS selector. */
  async see(name, within = '') {
    return this.page.waitForSelector(`${within} ::-p-aria([name="${name}"])`.trim(), {visible: true});
  }

  async press(name, within) {
    await (await this.see(name, within)).click();
  }

  async keys(...keys) {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  async chord(modifier, key) {
    await this.page.keyboard.down(modifier);
    await this.page.keyboard.press(key);
    await this.page.keyboard.up(modifier);
  }

  async write(text) {
    await this.page.focus('#prompt');
    await this.page.keyboard.type(text);
  }

  async say(text) {
    await this.page.waitForFunction(() => document.querySelector('#connection').dataset.state === 'ready');
    await this.write(text);
    if (this.page.viewport().hasTouch) await (await this.see('Send')).tap();
    else await this.keys('Enter');
  }

  async answered() {
    await this.until(() => document.querySelector('#send').title === 'Send' && document.querySelector('.assistant .figures li'));
  }

  /** Says something and waits for the whole answer. */
  async ask(text) {
    const before = await this.count('.assistant');
    await this.say(text);
    await this.until(number => document.querySelectorAll('.assistant').length > number, before);
    await this.answered();
  }

  until(condition, ...given) {
    return this.page.waitForFunction(condition, {}, ...given);
  }

  count(selector) {
    return this.page.$$eval(selector, all => all.length);
  }

  texts(selector) {
    return this.page.$$eval(selector, all => all.map(each => each.textContent));
  }

  async text(selector) {
    return (await this.texts(selector)).join('\n');
  }

  /** What the messages say, without what is around them. */
  messages() {
    return this.texts('.message > .text, .message > details > .text');
  }

  /** The name and the role of what has the focus. */
  async focus() {
    return this.page.evaluate(() => {
      const {activeElement: active} = document;
      return active.getAttribute('aria-label') ?? active.labels?.[0]?.textContent ?? active.textContent;
    });
  }

  async photograph(name) {
    if (!this.screenshots) return;
    await this.page.screenshot({path: path.join(this.screenshots, `${name}.png`)});
  }

  /** Checks the rules of accessibility that a program can check. */
  async inspect() {
    if (!this.axe) return;
    await this.page.evaluate(this.axe);
    const {violations} = await this.page.evaluate(() => globalThis.axe.run({resultTypes: ['violations']}));
    assert.deepEqual(violations.map(({id, nodes}) => `${id}: ${nodes.map(node => node.html).join(' ')}`), []);
  }
}
