// SPDX-License-Identifier: Apache-2.0
//
// Text files in a message of a person: they come before what the person wrote, each in a fence that nothing in it
// closes, so that any model reads them, and the page finds them again.

const kMostBytes = 2 << 20;
const kFile = /File: ([^\n]+)\n(`{3,})[^`\n]*\n([^]*?)\n?\2(?:\n+|$)/y;

/** The content of a message. `files` are {name, text}. */
export function withFiles(text, files) {
  const parts = files.map(file => {
    const longest = Math.max(2, ...(file.text.match(/`+/g) ?? []).map(run => run.length));
    const fence = '`'.repeat(longest + 1);
    const language = /\.(\w+)$/.exec(file.name)?.[1] ?? '';
    return `File: ${file.name}\n${fence}${language}\n${file.text.replace(/\n$/, '')}\n${fence}`;
  });
  return [...parts, ...(text ? [text] : [])].join('\n\n');
}

/** The reverse: {text, files}. */
export function splitFiles(content) {
  const files = [];
  let end = 0;
  for (;;) {
    kFile.lastIndex = end;
    const match = kFile.exec(content);
    if (!match) return {text: content.slice(end), files};
    files.push({name: match[1], text: match[3]});
    end = kFile.lastIndex;
  }
}

/** Reads a File of the browser as {name, text}. Errors have a sentence for people. */
export async function readTextFile(file) {
  const name = file.name.replace(/\s+/g, ' ');
  if (file.size > kMostBytes) throw new Error(`${name} has ${(file.size / 1048576).toFixed(1)} MB, which is more than a model reads.`);
  try {
    const text = new TextDecoder('utf-8', {fatal: true}).decode(await file.arrayBuffer());
    if (!text.includes('\0')) return {name, text: text.replace(/\r\n?/g, '\n')};
  } catch {
    // Said below.
  }
  throw new Error(`${name} is no text.`);
}
