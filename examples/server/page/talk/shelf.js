// SPDX-License-Identifier: Apache-2.0
//
// All conversations that the server has: their branches, their titles, and what they say as far as it was read.
import * as api from './api.js';
import {Branches} from './branches.js';
import {splitTitle, titleFor} from './titles.js';

const kMostNamed = 30;
const kMostSearched = 500;

export class Shelf {
  constructor() {
    this.visited = new Map();
    this.visits = 0;
    this.branches = new Branches([], this.visited);
    this.texts = new Map();
  }

  async refresh() {
    this.branches = new Branches(await api.list(), this.visited);
  }

  visit(id) {
    this.visited.set(id, ++this.visits);
  }

  /** With its folder. */
  fullTitleOf(id) {
    const family = this.branches.familyOf(id);
    if (family.length === 0) return 'Untitled';  // somebody else may have deleted it
    const holder = this.branches.eldest(family);
    return this.branches.conversations.get(holder).title || this.texts.get(holder)?.title || 'Untitled';
  }

  titleOf(id) {
    return splitTitle(this.fullTitleOf(id)).name;
  }

  /** What a list of conversations shows, the newest first; `current` is shown now, `isBusy` says of an id whether it is answered. */
  items(current, isBusy) {
    const {branches} = this;
    const updated = family => Math.max(...family.map(id => branches.conversations.get(id).updated));
    const families = [...branches.families.values()].sort((a, b) => updated(b) - updated(a));
    return families.map(family => {
      const isCurrent = family.includes(current);
      const id = isCurrent ? current : branches.latest(family);
      return {id, title: this.fullTitleOf(id), updated: updated(family), isCurrent, isBusy: family.some(isBusy),
              text: family.map(other => this.texts.get(other)?.text ?? '').join('\n')};
    });
  }

  newest() {
    return [...this.branches.conversations.values()].sort((a, b) => b.updated - a.updated);
  }

  /** Names those that have no title. */
  readUntitled() {
    return this.read(this.newest().filter(({title}) => !title).slice(0, kMostNamed));
  }

  /** Reads what search goes through. */
  readTexts() {
    return this.read(this.newest().slice(0, kMostSearched));
  }

  // One after another; whether there was anything new.
  async read(conversations) {
    const fresh = conversations.filter(({id, updated}) => this.texts.get(id)?.updated !== updated);
    for (const {id, updated} of fresh) {
      const told = await api.open(id).catch(() => null);  // somebody else may have deleted it
      const spoken = (told?.messages ?? []).filter(({content}) => typeof content === 'string');
      const first = spoken.find(({role}) => role === 'user') ?? spoken[0];
      this.texts.set(id, {updated, title: titleFor(first?.content ?? ''),
                          text: spoken.map(({content}) => content).join('\n').toLowerCase()});
    }
    return fresh.length > 0;
  }
}
