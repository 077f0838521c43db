// Calls a model's WebAssembly module once: `node run.mjs CALL.json`, where the file names module, function, bytes of
// arena, sizes, files with inputs, and bytes of each result. Writes the results to stdout.
import { readFileSync, writeSync } from "node:fs";

const call = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { instance } = await WebAssembly.instantiate(readFileSync(call.module), {});
const { memory, __heap_base } = instance.exports;

// Memory from __heap_base on is the caller's.
let end = __heap_base.value;
const take = (bytes) => {
  const start = Math.ceil(end / 64) * 64;
  end = start + bytes;
  const missing = end - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / 65536));
  return start;
};

const arena = take(call.arena);
const inputs = call.inputs.map((file) => {
  const bytes = readFileSync(file);
  const start = take(bytes.length);
  new Uint8Array(memory.buffer).set(bytes, start);
  return start;
});
const results = call.results.map(take);

// A struct of C: sizes of 64 bits, then pointers of 32.
const struct = (sizes, pointers) => {
  const start = take(8 * sizes.length + 4 * pointers.length + 8);
  const view = new DataView(memory.buffer, start);
  sizes.forEach((size, i) => view.setBigInt64(8 * i, BigInt(size), true));
  pointers.forEach((pointer, i) => view.setUint32(8 * sizes.length + 4 * i, pointer, true));
  return start;
};
const status = instance.exports[call.function](struct(call.sizes, inputs), struct([], results), arena);
if (status !== 0) {
  console.error(`status ${status}`);
  process.exit(1);
}
call.results.forEach((bytes, i) => writeSync(1, new Uint8Array(memory.buffer, results[i], bytes)));
