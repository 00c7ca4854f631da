// SPDX-License-Identifier: Apache-2.0
//
// Which part of a source the texts of its rendering are: they come in the same order, with markup between them.

/**
 * Replaces the texts within `root` by the nodes of pieces(start, end), offsets in `source`, where they are found from
 * `start` on. What is spelled otherwise in the source, such as an entity, stays as it is; so does what `isOwn` says of
 * an element that holds texts.
 */
export function placeTexts(root, source, start, end, pieces, isOwn) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, node => (
    node.nodeType === Node.ELEMENT_NODE && isOwn(node) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT));
  const texts = [];
  while (walker.nextNode()) {
    const {nodeType, data, parentElement} = walker.currentNode;
    // Blanks between blocks are none of the text.
    if (nodeType === Node.TEXT_NODE && (data.trim() !== '' || parentElement?.closest('pre'))) texts.push(walker.currentNode);
  }
  const block = source.slice(start, end);
  let at = 0;
  const place = part => {
    const found = part.trim() === '' ? (block.startsWith(part, at) ? at : -1) : block.indexOf(part, at);
    if (found < 0) return null;
    at = found + part.length;
    return pieces(start + found, start + at);
  };
  for (const text of texts) {
    // Line by line, as the marks of quotes and lists stand between lines; word by word where there is an entity.
    const lines = text.data.match(/[^\n]+|\n/g) ?? [];
    text.replaceWith(...lines.flatMap(line => place(line) ?? line.match(/\s+|\S+/g).flatMap(word => place(word) ?? [word])));
  }
}
