// SPDX-License-Identifier: Apache-2.0
//
// Whether the server is there, is loading its model or is gone, and what the page says of it.
import {health} from '../talk/api.js';
import {element} from './elements.js';

const kWords = {
  loading: 'The model is being loaded. You can write meanwhile.',
  gone: 'The server does not answer. The page tries again every few seconds.',
};
const kPause = {loading: 1000, gone: 4000};

export class Connection {
  /** Speaks in `region`; calls `onchange` when `ready` has changed. */
  constructor(region, onchange) {
    Object.assign(this, {region, onchange, state: '', waiting: null, retry: () => {}});
  }

  get ready() {
    return this.state === 'ready';
  }

  set(state) {
    if (state === this.state) return;
    this.state = this.region.dataset.state = state;
    const words = kWords[state] ? [element('span', {class: 'pulse'}), element('span', {}, kWords[state])] : [];
    const retry = element('button', {type: 'button', onclick: () => this.retry()}, 'Try again');
    this.region.replaceChildren(...words, ...(state === 'gone' ? [retry] : []));
    this.onchange();
  }

  /** Waits until the server answers. It is `ready` when the page has loaded what it shows. */
  wait() {
    this.waiting ??= this.poll().finally(() => { this.waiting = null; });
    return this.waiting;
  }

  async poll() {
    for (let state; (state = await health()) !== 'ready';) {
      this.set(state);
      await new Promise(resolve => {
        this.retry = resolve;
        setTimeout(resolve, kPause[state]);
      });
    }
  }
}
