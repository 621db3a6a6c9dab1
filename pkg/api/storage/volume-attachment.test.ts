import assert from "node:assert/strict";
import { created, type Sketch, updated } from "../testing.ts";
import { csiStorageCapacity } from "./csi-storage-capacity.ts";
import { volumeAttachment } from "./volume-attachment.ts";

describe("VolumeAttachment", () => {
  const spec = {
    attacher: "csi.example.com",
    nodeName: "n",
    source: { persistentVolumeName: "pv" },
  };
  const complaints = (source: Sketch) =>
    created(volumeAttachment, { spec: { ...spec, source } }).complaints;
  const inline = "spec.source.inlineVolumeSpec";

  it("requires exactly one volume source", () => {
    const both = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    assert.deepEqual(complaints(spec.source), []);
    assert.deepEqual(complaints({}), [`Required spec.source: ${both}`]);
    assert.deepEqual(complaints({ ...spec.source, inlineVolumeSpec: {} }), [
      `Forbidden spec.source: ${both}`,
    ]);
  });
  it("rejects capacity and class of an inline volume", () => {
    const csi = { driver: "csi.example.com", volumeHandle: "h" };
    const accessModes = ["ReadWriteOnce"];
    assert.deepEqual(complaints({ inlineVolumeSpec: { csi, accessModes } }), []);
    const volume = { csi, accessModes, capacity: { storage: "1Gi" }, storageClassName: "x" };
    assert.deepEqual(complaints({ inlineVolumeSpec: volume }), [
      `Forbidden ${inline}.capacity: may not be specified in the context of inline volumes`,
      `Forbidden ${inline}.storageClassName: may not be specified in the context of inline volumes`,
    ]);
  });
  it("rejects changes of the spec, and ignores metadata in status updates", () => {
    const old = created(volumeAttachment, { spec });
    const write = { spec: { ...spec, nodeName: "o" } };
    assert.deepEqual(updated(volumeAttachment, old, write).complaints, [
      'Invalid spec = {"Attacher":"csi.example.com","Source":{"PersistentVolumeName":"pv",' +
        '"InlineVolumeSpec":null},"NodeName":"o"}: field is immutable',
    ]);
    const status = { metadata: { labels: { a: "b" } }, spec, status: { attached: true } };
    const { object } = updated(volumeAttachment, old, status, { subresource: "status" });
    assert.equal(object.status.attached, true);
    assert.equal(object.metadata.labels, undefined);
  });
});

describe("CSIStorageCapacity", () => {
  const sketch = { storageClassName: "fast", capacity: "1Gi" };
  it("rejects changes of other fields than capacity", () => {
    const old = created(csiStorageCapacity, sketch);
    const change = (rest: Sketch) =>
      updated(csiStorageCapacity, old, { ...sketch, ...rest }).complaints;
    assert.deepEqual(change({ capacity: "2Gi" }), []);
    assert.deepEqual(change({ capacity: "-1" }), [
      'Invalid capacity = "-1": must be greater than or equal to 0',
    ]);
    assert.deepEqual(change({ storageClassName: "slow" }), [
      'Invalid storageClassName = "slow": field is immutable',
    ]);
  });
});
