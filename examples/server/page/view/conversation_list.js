// SPDX-License-Identifier: Apache-2.0
//
// The list of conversations: by folders, then by the days on which they changed, as far as they fit what is searched.
import {splitTitle} from '../talk/titles.js';
import {element} from './elements.js';

const kDay = 24 * 60 * 60 * 1000;

function dayOf(seconds, now) {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const time = seconds * 1000;
  if (time >= midnight) return 'Today';
  if (time >= midnight - kDay) return 'Yesterday';
  if (time >= midnight - 7 * kDay) return 'Last seven days';
  return new Date(time).toLocaleDateString('en', {month: 'long', year: 'numeric'});
}

// Map of group -> items, in the order in which they come.
function grouped(items, groupOf) {
  const groups = new Map();
  for (const item of items) groups.set(groupOf(item), [...groups.get(groupOf(item)) ?? [], item]);
  return groups;
}

export class ConversationList {
  /** Shows links in `list`, an `ol`, of those that have what is written in `search`. */
  constructor(list, search) {
    Object.assign(this, {list, search, items: [], openFolders: new Set()});
    search.addEventListener('input', () => this.draw());
    search.addEventListener('keydown', event => {
      if (event.key !== 'Escape' || search.value === '') return;
      event.stopPropagation();
      search.value = '';
      this.draw();
    });
  }

  /** `items`, the newest first: {id, title, text, updated, isCurrent, isBusy}; `text` is searched beside the title. */
  show(items) {
    this.items = items;
    this.search.parentElement.hidden = items.length < 2;
    this.draw();
  }

  get folders() {
    return [...new Set(this.items.map(({title}) => splitTitle(title).folder))].filter(Boolean).sort();
  }

  draw() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = ({title, text}) => words.every(word => title.toLowerCase().includes(word) || text.includes(word));
    const items = this.items.filter(fits).map(item => ({...item, ...splitTitle(item.title)}));
    const {activeElement} = document;
    const focused = this.list.contains(activeElement) && (activeElement.getAttribute('href') ?? activeElement.textContent);
    const folders = [...grouped(items.filter(item => item.folder), item => item.folder)].sort(([a], [b]) => a.localeCompare(b));
    const days = grouped(items.filter(item => !item.folder), item => dayOf(item.updated, Date.now()));
    this.list.replaceChildren(
        ...folders.map(([folder, inside]) => this.folder(folder, inside, words.length > 0)),
        ...[...days].map(([day, inside]) => element('li', {}, element('p', {class: 'day'}, day), this.listOf(inside, day))));
    if (words.length && items.length === 0) this.list.append(element('li', {}, element('p', {class: 'day'}, 'Nothing found')));
    if (focused) {
      [...this.list.querySelectorAll('a, summary')]
          .find(node => (node.getAttribute('href') ?? node.textContent) === focused)?.focus();
    }
  }

  folder(folder, inside, isSearch) {
    const isOpen = isSearch || this.openFolders.has(folder) || inside.some(item => item.isCurrent);
    const summary = element('summary', {}, folder);
    summary.addEventListener('click', () => {
      if (details.open) this.openFolders.delete(folder);
      else this.openFolders.add(folder);
    });
    const details = element('details', {open: isOpen}, summary, this.listOf(inside, folder));
    return element('li', {class: 'folder'}, details);
  }

  listOf(items, label) {
    return element('ol', {'aria-label': label}, ...items.map(this.link));
  }

  link({id, name, isCurrent, isBusy}) {
    return element('li', {}, element('a', {href: `#${id}`, 'aria-current': isCurrent ? 'page' : null,
                                           class: isBusy ? 'busy' : null}, name));
  }
}
