// SPDX-License-Identifier: Apache-2.0
//
// What the mock's model says: an answer, all of Markdown, and what would harm a page that believed it.

export const kAnswer = `The **northern** harbour wakes slowly. You asked about "{}", so here is what there is to know:

1. A ship needs a crew.
   - oars
   - a sail of \`wool\`
2. A crew needs a *song*.

\`\`\`python
def row(strokes):
    for stroke in range(strokes):
        print("heave", stroke)
\`\`\`

<img src=x onerror="document.title='broken'"> is text like any other, \u{1f9ed} too.

### And then

The verses are kept by heart, and told on when the boat is drawn up on the shore.`;

const kPixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const kMarkdown = `# The voyage

Rowing **hard** is *slow*; ~~sails~~ and [winds](https://example.com/winds) help. See https://example.com/log too.

> A ship in harbour is safe,
> but that is not what ships are for.
>
> - the helmsman

| Oars | Speed | Crew<br>needed |
|:-----|------:|:--------------:|
| 8    |   3.5 | nine &amp; a boy |
| 32   |   6.1 | \`forty\` |

- [x] tar the hull
- [ ] mend the sail

Inline $v = \\sqrt{g\\,\\ell}$ and \\(a^2 + b^2 = c^2\\); it costs $5 or $10.

$$
\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2}, \\qquad
\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}
$$

\\[ \\vec{F} = m\\vec{a} \\]

\`\`\`cpp
// The keel first.
#include <vector>
template <class T>
int Count(const std::vector<T>& oars) { return static_cast<int>(oars.size()) + 42; }
const char* name = "Long \\"Serpent\\"";
\`\`\`

\`\`\`diff
- sails = 1
+ sails = 2
\`\`\`

![A point](data:image/png;base64,${kPixel}) ![far](https://example.com/far.png)

---

1. one

   still one
2. two
`;

export const kHostile = `<script>document.title = 'broken'</script><img src=x onerror="document.title='broken'">

<svg onload="document.title='broken'"><iframe srcdoc="<script>parent.document.title='broken'</script>"></iframe></svg>

[a](javascript:document.title='broken') [b](  JaVaScRiPt:alert(1)) [c](data:text/html,<script>alert(1)</script>)
[d](vbscript:x) [e](&#106;avascript:alert(1)) [f](java&#10;script:alert(1)) <javascript:alert(1)> [g](file:///etc/passwd)

![h](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+) ![i](https://example.com/x.png" onerror="alert(1))

[j](https://example.com/"onmouseover="document.title='broken')

| a | b |
|:-:|:-:|
| <img src=x onerror="document.title='broken'"> | [k](javascript:alert(1)) |

$\\href{javascript:alert(1)}{x}$ $\\htmlStyle{color:red}{x}$ $\\includegraphics{https://example.com/x.png}$ $<img src=x onerror=alert(1)>$
$\\text{" style="x" onload="alert(1)}$ $\\def\\a{\\a\\a}\\a$ $\\rule{1000em}{1000em}$ $\\fcolorbox{red}{blue}{x}$ $\\url{javascript:alert(1)}$

\`\`\`"><img src=x onerror=alert(1)>
</code></pre><script>document.title = 'broken'</script>
\`\`\`

\`\`\`html
<form action=/v1/conversations id=prompt><input name=attributes><style>body { display: none }</style></form>
\`\`\`

<a id="composer" name="messages" href="#">x</a> <math><mtext><table><mglyph><style><img src=x onerror=alert(1)>

[ref]: javascript:alert(1)
[ref] [^1]

${'> '.repeat(8)} deep

${'- '.repeat(8)}deep

${'['.repeat(5000)}deep${']'.repeat(5000)}

${'*'.repeat(3000)}a${'_'.repeat(3000)}
`;

export const kDeep = `${'>'.repeat(3000)} deep\n\n${'- '.repeat(2000)}deep\n\nIts end.`;
