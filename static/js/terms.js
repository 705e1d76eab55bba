// Makes a button of the first use of each term of the field in the main part of a page. It shows what the glossary says.
{
  // Where a button cannot be, or where people's own words stand
  const LEFT_ALONE = "a, article, bdi, blockquote, button, code, h2, label, legend, pre, select, summary, svg, td, textarea, .readonly";

  const create = (name, text, members = {}) => Object.assign(document.createElement(name), {textContent: text}, members);

  const patternOf = (names) => {
    const longestFirst = [...names].sort((first, second) => second.length - first.length);
    const either = longestFirst.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
    return new RegExp(`(?<!\\p{L})(${either})(?:s|e|n|en|es)?(?!\\p{L})`, "iu"); // the plural, too
  };

  const explain = (main, text, match, name, meaning, glossary) => {
    const use = text.splitText(match.index);
    use.splitText(match[0].length);
    const shown = create("div", "", {className: "q-meaning", popover: "auto"});
    const sentence = create("p", `: ${meaning}`);
    sentence.prepend(create("b", name));
    shown.append(sentence, create("a", glossary.name, {href: glossary.address}));
    const button = create("button", use.data, {type: "button", className: "q-term", popoverTargetElement: shown});
    use.replaceWith(button);
    main.append(shown); // so that the text around the term stays one sentence
  };

  document.addEventListener("DOMContentLoaded", async () => {
    const address = document.querySelector("[data-terms]")?.dataset.terms;
    const main = document.querySelector("main");
    if (!address || !main || !HTMLElement.prototype.showPopover) return;
    const {glossary, terms} = await (await fetch(address)).json();
    const unused = new Map(terms.map(([name, meaning]) => [name.toLowerCase(), [name, meaning]]));
    let pattern = patternOf(unused.keys());
    const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    while (unused.size && texts.nextNode()) {
      const text = texts.currentNode;
      if (text.parentElement.closest(LEFT_ALONE) || !text.parentElement.checkVisibility()) continue;
      const match = pattern.exec(text.data);
      if (!match) continue;
      const key = match[1].toLowerCase();
      explain(main, text, match, ...unused.get(key), glossary);
      unused.delete(key);
      pattern = patternOf(unused.keys());
    }
  });
}
