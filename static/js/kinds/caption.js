// Captions as they are written: the rules are told while somebody types, calmly, and the sentence goes on as the answer.
// The rules and every word come with the page; the server looks at the same rules again.

const PAUSE = 600;  // ms without a key before anything is said
const BLANKS = /[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;

export function tidied(text) {
  return text.replace(BLANKS, " ").replace(/^ | $/gu, "");
}

export function countWords(text) {
  return text.split(" ").filter((run) => LETTER_OR_DIGIT.test(run)).length;
}

function finds(rule, text) {
  if (rule.counts) {
    const count = rule.counts === "words" ? countWords(text) : [...text].length;
    return count < rule.least || (rule.most > 0 && count > rule.most);
  }
  return new RegExp(rule.pattern, rule.flags).test(text);
}

// the rules that a text breaks, in their order
export function broken(text, rules) {
  const tidy = tidied(text);
  return rules.filter((rule) => finds(rule, tidy));
}
