import assert from "node:assert/strict";
import { CallFault } from "./call-fault.ts";
import { parseResponse } from "./response.ts";

describe("responses of webhooks", () => {
  const parse = (code: number, text: string, contentType = "application/json") => {
    try {
      return parseResponse({ code, contentType, text });
    } catch (fault) {
      if (fault instanceof CallFault) return fault.message;
      throw fault;
    }
  };
  const status = (fields: object) =>
    JSON.stringify({ kind: "Status", apiVersion: "v1", ...fields });
  const server = (text: string) =>
    `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`;

  for (const [name, found, expected] of [
    ["an object", parse(200, '{"a":1}'), { a: 1 }],
    ["an object without a type", parse(206, '{"a":1}', ""), { a: 1 }],
    ["parameters of the type", parse(200, "{}", "application/json; charset=utf-8"), {}],
    ["null", parse(200, "null"), {}],
    ["another type", parse(200, '{"a":1}', "text/plain; charset=utf-8"), { a: 1 }],
    [
      "a failure of another type",
      parse(500, status({ status: "Failure", message: "why" }), "text/plain"),
      "why",
    ],
    [
      "no body",
      parse(204, ""),
      "0-length response with status code: 204 and content type: application/json",
    ],
    [
      "no JSON",
      parse(200, "<html>"),
      "couldn't get version/kind; json parse error: " +
        "json: cannot unmarshal string into Go value of type struct { " +
        'APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
    ],
    ["YAML", parse(200, "a: 1\nb: [x]"), { a: 1, b: ["x"] }],
    ["broken YAML", parse(200, "a: b: c"), "yaml: mapping values are not allowed in this context"],
    [
      "half of an object",
      parse(200, '{"a":'),
      "couldn't get version/kind; json parse error: unexpected end of JSON input",
    ],
    ["a failure as text", parse(500, " broken ", "text/plain"), server("broken")],
    ["a failure without a type", parse(500, "broken", ""), server("broken")],
    ["a failure as JSON", parse(500, "broken"), server("unknown")],
    ["a long text", parse(502, "x".repeat(5000), "text/plain"), server("x".repeat(2048))],
    ["a Status", parse(500, status({ status: "Failure", message: "why" })), "why"],
    ["a Status without type", parse(418, '{"status":"Failure","message":"tea"}'), "tea"],
    [
      "a Status of success",
      parse(500, status({ status: "Success", message: "why" })),
      server("unknown"),
    ],
    ["400", parse(400, ""), "the server rejected our request for an unknown reason"],
    ["401", parse(401, ""), "the server has asked for the client to provide credentials"],
    ["403 with a text", parse(403, "denied", "text/plain"), "denied"],
    ["403 without", parse(403, ""), "unknown"],
    ["404", parse(404, ""), "the server could not find the requested resource"],
    ["405", parse(405, ""), "the server does not allow this method on the requested resource"],
    [
      "406",
      parse(406, ""),
      "the server was unable to respond with a content type that the client supports",
    ],
    ["409", parse(409, ""), "the server reported a conflict"],
    ["422", parse(422, ""), "the server rejected our request due to an error in our request"],
    [
      "429",
      parse(429, ""),
      "the server has received too many requests and has asked us to try again later",
    ],
    ["503", parse(503, ""), "the server is currently unable to handle the request"],
    [
      "a redirect",
      parse(302, ""),
      "the server responded with the status code 302 but did not return more information",
    ],
  ] as const) {
    it(name, () => assert.deepEqual(found, expected));
  }
});
