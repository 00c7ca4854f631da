// SPDX-License-Identifier: Apache-2.0
//
// Files that go along with the next message: chosen, dropped on the page or pasted. A long text that is pasted is one too,
// as it would hide what one writes.
import {readTextFile} from '../talk/files.js';
import {announce, element, iconButton} from './elements.js';

const kLongText = 4000;

export function fileSize(text) {
  const bytes = new TextEncoder().encode(text).length;
  return bytes < 1024 ? `${bytes} B` : `${(bytes / 1024).toFixed(bytes < 10240 ? 1 : 0)} KB`;
}

export class Attachments {
  /** Shows the files in `list`; `onchange` hears that they changed, `onfailure` a sentence about one that is no text. */
  constructor({list, button, input, area, onchange, onfailure}) {
    Object.assign(this, {list, files: [], onchange, onfailure});
    button.addEventListener('click', () => input.click());
    input.addEventListener('change', () => {
      this.add([...input.files]);
      input.value = '';
    });
    area.addEventListener('dragover', event => { if (event.dataTransfer.types.includes('Files')) event.preventDefault(); });
    area.addEventListener('drop', event => this.take(event, event.dataTransfer));
    area.addEventListener('paste', event => this.take(event, event.clipboardData) || this.takeText(event));
  }

  take(event, {files}) {
    if (files.length === 0) return false;
    event.preventDefault();
    this.add([...files]);
    return true;
  }

  takeText(event) {
    const text = event.clipboardData.getData('text');
    if (event.target.id !== 'prompt' || text.length < kLongText) return;
    event.preventDefault();
    const taken = new Set(this.files.map(({name}) => name));
    let number = 1;
    while (taken.has(`pasted-${number}.txt`)) ++number;
    this.add([new File([text], `pasted-${number}.txt`)]);
  }

  async add(given) {
    for (const file of given) {
      try {
        this.files.push(await readTextFile(file));
        announce(`${file.name} is attached`);
      } catch (error) {
        this.onfailure(error.message);
      }
    }
    this.draw();
  }

  set(files) {
    this.files = files;
    this.draw();
  }

  draw() {
    this.list.hidden = this.files.length === 0;
    this.list.replaceChildren(...this.files.map(file => element('li', {class: 'file'}, element('span', {}, file.name),
        element('small', {}, fileSize(file.text)), iconButton('close', `Remove ${file.name}`, () => {
          this.set(this.files.filter(other => other !== file));
        }))));
    this.onchange();
  }
}
