/** Formats with a check digit. */

/** Weighted sum of the digits of an ISBN, which may be separated; NaN if the text has another form. */
function isbnSum(text: string, form: RegExp, weight: (index: number) => number): number {
  const digits = text.replace(/[\s-]+/g, "");
  if (!form.test(digits)) return NaN;
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    sum += weight(index) * (digits[index] === "X" ? 10 : Number(digits[index]));
  }
  return sum;
}

export function isIsbn10(text: string): boolean {
  return isbnSum(text, /^\d{9}[\dX]$/, (index) => 10 - index) % 11 === 0;
}

export function isIsbn13(text: string): boolean {
  return isbnSum(text, /^\d{13}$/, (index) => (index % 2 === 0 ? 1 : 3)) % 10 === 0;
}

/** Prefixes and lengths of card issuers, as in go-openapi's govalidator. */
const issuers: readonly RegExp[] = [
  /^4\d{12}(?:\d{3})?$/,
  /^5[1-5]\d{14}$/,
  /^6(?:011|5\d\d)\d{12}$/,
  /^3[47]\d{13}$/,
  /^3(?:0[0-5]|[68]\d)\d{11}$/,
  /^(?:2131|1800|35\d{3})\d{11}$/,
];

/** Whether the digits of the text are from a known issuer and pass the Luhn check. */
export function isCreditCard(text: string): boolean {
  const digits = text.replace(/\D+/g, "");
  if (!issuers.some((issuer) => issuer.test(digits))) return false;
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index]);
    const doubled = index % 2 === 0 ? digit : 2 * digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
