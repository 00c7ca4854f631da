// SPDX-License-Identifier: Apache-2.0
//
// What conversations say, where the list of them does not tell: for search, and to name those that have no title.
import * as api from './api.js';
import {splitFiles} from './files.js';

const kTitleLength = 60;

/** A title for a conversation that begins with this message. */
export function titleFor(content) {
  const {text, files} = splitFiles(content);
  const line = (text || files.map(file => file.name).join(', ')).split('\n')[0];
  return line.length > kTitleLength ? `${line.slice(0, kTitleLength - 1)}\u2026` : line;
}

export class Texts {
  constructor() {
    this.known = new Map();
  }

  /** {title, text} as far as it is known; the text is in small letters. */
  of({id}) {
    return this.known.get(id) ?? {title: '', text: ''};
  }

  /** Reads what is new in `conversations`, one after another. */
  async read(conversations) {
    for (const {id, updated} of conversations) {
      if (this.known.get(id)?.updated === updated) continue;
      const told = await api.open(id).catch(() => null);  // somebody else may have deleted it
      if (!told) continue;
      const spoken = told.messages.filter(({content}) => typeof content === 'string');
      const first = spoken.find(({role}) => role === 'user') ?? spoken[0];
      this.known.set(id, {updated, title: titleFor(first?.content ?? ''),
                          text: spoken.map(({content}) => content).join('\n').toLowerCase()});
    }
  }
}
