// SPDX-License-Identifier: Apache-2.0
//
// A call of a tool, or what the tool gave: under a line with its name, JSON as people write it, other texts as they are.
import {element} from '../elements.js';
import {MarkdownView} from '../text/markdown.js';

// Objects and lists on lines of their own; null for what is no JSON, or one value alone.
function laidOut(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === 'object' ? JSON.stringify(value, null, 2) : null;
  } catch {
    return null;
  }
}

function bodyOf(text) {
  const json = laidOut(text);
  if (json === null) return element('div', {class: 'text'}, text);
  const body = element('div', {class: 'markdown'});
  const markdown = `\`\`\`\`\`\`json\n${json}\n\`\`\`\`\`\``;
  new MarkdownView(body, (start, end) => [markdown.slice(start, end)]).update(markdown);
  return body;
}

/** "Calls NAME", say, that opens to the text. */
export const toolDetails = (words, name, text, ...more) => (
  element('details', {class: 'call'}, element('summary', {}, ...(name ? [`${words} `, element('code', {}, name)] : [words])),
          bodyOf(text), ...more));
