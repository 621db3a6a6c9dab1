import assert from "node:assert/strict";
import { rewriteLinks } from "./html-links.ts";

const prefixed = (url: string) => (url.startsWith("/") ? `/proxy${url}` : undefined);

describe("rewriteLinks", () => {
  /** Page and result, as of golang.org/x/net/html. */
  const pages: readonly (readonly [page: string, rewritten: string])[] = [
    ['<!DOCTYPE html><html manifest="/m">', '<!DOCTYPE html><html manifest="/proxy/m">'],
    ["<script src='/s.js'></script>", '<script src="/proxy/s.js"></script>'],
    ['<A HREF="/x?a=1&amp;b=2">x</A>', '<a href="/proxy/x?a=1&amp;b=2">x</A>'],
    ["<a href=/y>y</a>", '<a href="/proxy/y">y</a>'],
    ['<img src="/i" alt="a&quot;b"/>', '<img src="/proxy/i" alt="a&#34;b"/>'],
    ["<form action=/f disabled>", '<form action="/proxy/f" disabled="">'],
    ["<p class=x>ä&euro;</p>", '<p class="x">ä&euro;</p>'],
    ['<p title="&eacute;&#228;&#xe4;&lt">', '<p title="&eacute;ää&lt;">'],
    ['<a data-href="/d" title="/t">', '<a data-href="/d" title="/t">'],
    ['<a href="rel">', '<a href="rel">'],
    ["<br/><hr / ><p a=/>", '<br/><hr><p a="/">'],
    ['<!-- <a href="/no"> --><a href="/a">', '<!-- <a href="/no"> --><a href="/proxy/a">'],
    ['<!--><a href="/a">', '<!--><a href="/proxy/a">'],
    ['<style>a{b:"<a href=/x>"}</style>', '<style>a{b:"<a href=/x>"}</style>'],
    [`<script>"<a href='/no'>"</script>`, `<script>"<a href='/no'>"</script>`],
    [
      "<script><!-- <script></script> <a href=/no> --></script><a href=/a>",
      '<script><!-- <script></script> <a href=/no> --></script><a href="/proxy/a">',
    ],
    ["<textarea><a href=/x></textarea>", "<textarea><a href=/x></textarea>"],
    ["<plaintext><a href=/x>", "<plaintext><a href=/x>"],
    ["a < b <3 </ x> <? y> &amp;", "a < b <3 </ x> <? y> &amp;"],
    [
      '<body background="/b"><video src=/v poster=/p>',
      '<body background="/proxy/b"><video src="/proxy/v" poster="/proxy/p">',
    ],
  ];
  for (const [page, rewritten] of pages) {
    it(`turns ${page} into ${rewritten}`, () => {
      assert.equal(rewriteLinks(page, prefixed), rewritten);
    });
  }

  it("takes linear time for hostile pages", () => {
    for (const part of [
      "<",
      "<a ",
      "<!-",
      "<!--",
      "<a href='",
      "</",
      "<script><!--",
      "<a b=&",
      "&#",
    ]) {
      // Quadratic time would exceed the timeout of the test.
      assert.equal(typeof rewriteLinks(part.repeat(200_000), prefixed), "string");
    }
  });
});
