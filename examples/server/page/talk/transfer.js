// SPDX-License-Identifier: Apache-2.0
//
// Conversations as files: Markdown for people, JSON for other programs, and the state that was computed.
import * as api from './api.js';

const kNames = {user: 'You', assistant: 'Answer', system: 'System prompt', tool: 'Tool'};

function markdownOf(title, {messages}) {
  const parts = messages.map(({role, content, reasoning_content: thoughts, tool_calls: calls = []}) => [
    `## ${kNames[role] ?? role}`,
    ...(thoughts ? [`> ${thoughts.trim().replaceAll('\n', '\n> ')}`] : []),
    ...(content ? [content] : []),
    ...calls.map(({function: {name, arguments: given}}) => (
      `\`\`\`json\n${name}(${typeof given === 'string' ? given : JSON.stringify(given)})\n\`\`\``)),
  ].join('\n\n'));
  return [`# ${title}`, ...parts, ''].join('\n\n').replace(/\n+$/, '\n');
}

// As messages of OpenAI's API, which `imported` takes too.
const jsonOf = (title, {model, created, messages}) => `${JSON.stringify({title, model, created, messages}, null, 2)}\n`;

/** {blob, extension} of a conversation; `kind` is 'markdown', 'json' or 'state'. */
export async function exported(kind, id, title) {
  if (kind === 'state') return {blob: await api.exportState(id), extension: 'skald'};
  const told = await api.open(id);
  return kind === 'json' ? {blob: new Blob([jsonOf(title, told)], {type: 'application/json'}), extension: 'json'} :
                           {blob: new Blob([markdownOf(title, told)], {type: 'text/markdown'}), extension: 'md'};
}

/** The conversation that a file has, made anew on the server. */
export async function imported(file) {
  if (!file.name.endsWith('.json')) return api.importState(file);
  let given = null;
  try {
    given = JSON.parse(await file.text());
  } catch {
    // Said below.
  }
  if (!Array.isArray(given?.messages)) throw new api.ApiError(400, 'This file has no messages.');
  return api.create(String(given.title ?? ''), given.messages);
}
