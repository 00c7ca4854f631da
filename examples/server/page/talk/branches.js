// SPDX-License-Identifier: Apache-2.0
//
// Which conversations are branches of one another. A fork has the first `parent_messages` messages of its `parent`;
// all that are joined by forks are a family, which the page shows as one conversation.

export class Branches {
  /** `list` as the server gives it; `visited` maps ids to when they were last shown. */
  constructor(list, visited) {
    this.conversations = new Map(list.map(conversation => [conversation.id, conversation]));
    this.visited = visited;
    this.families = new Map();
    for (const {id} of list) {
      const root = [...this.lineage(id).keys()].at(-1);
      this.families.set(root, [...this.families.get(root) ?? [], id]);
    }
  }

  /** From a conversation to its oldest ancestor, deleted ones too: id -> how many first messages it has in common. */
  lineage(id) {
    const lineage = new Map();
    let common = Infinity;
    while (id && !lineage.has(id)) {
      lineage.set(id, common);
      const {parent, parent_messages: count} = this.conversations.get(id) ?? {};
      common = Math.min(common, count ?? 0);
      id = parent;
    }
    return lineage;
  }

  /** How many first messages two conversations of a family have in common; a conversation with itself: Infinity. */
  shared(a, b) {
    const lineage = this.lineage(a);
    for (const [id, common] of this.lineage(b)) {
      if (lineage.has(id)) return Math.min(common, lineage.get(id));
    }
    return 0;
  }

  familyOf(id) {
    return [...this.families.values()].find(family => family.includes(id)) ?? [];
  }

  /** By the time when they were begun; within a second a fork comes after what it was forked from. */
  byAge(a, b) {
    return this.conversations.get(a).created - this.conversations.get(b).created ||
        this.lineage(a).size - this.lineage(b).size || (a < b ? -1 : 1);
  }

  /** The one whose title names the family. */
  eldest(ids) {
    return ids.reduce((a, b) => (this.byAge(a, b) <= 0 ? a : b));
  }

  /** The one to show of some branches: the last one shown, else the last one that changed. */
  latest(ids) {
    const order = id => [this.visited.get(id) ?? 0, this.conversations.get(id).updated];
    return ids.reduce((best, id) => {
      const [a, b] = [order(best), order(id)];
      return b[0] > a[0] || (b[0] === a[0] && b[1] > a[1]) ? id : best;
    });
  }

  /**
   * The ways on from the first `position` messages of a conversation, in the order in which they were begun:
   * {index: the conversation's own, ids: a conversation for each}.
   */
  alternatives(id, position) {
    const ways = [];
    for (const other of this.familyOf(id)) {
      const ends = this.conversations.get(other).message_count <= position;
      if (this.shared(id, other) < position || (ends && other !== id)) continue;
      const way = ways.find(ids => this.shared(ids[0], other) > position);
      if (way) way.push(other);
      else ways.push([other]);
    }
    ways.sort((a, b) => this.byAge(this.eldest(a), this.eldest(b)));
    return {index: ways.findIndex(ids => ids.includes(id)), ids: ways.map(ids => (ids.includes(id) ? id : this.latest(ids)))};
  }
}
