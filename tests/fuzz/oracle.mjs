#!/usr/bin/env node
// The judge of fuzz_json: for each text on stdin its canonical form by the npm package `canonicalize`, whose folder is
// the argument. Both ways: u32 little-endian length, bytes; the length 2^32-1 says that V8 takes the text for no JSON.
import { readSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const { default: canonicalize } = await import(pathToFileURL(`${process.argv[2]}/lib/canonicalize.js`));
const REFUSED = Buffer.from([0xff, 0xff, 0xff, 0xff]);

function read(length) {
	const buffer = Buffer.alloc(length);
	for (let at = 0; at < length;) {
		const n = readSync(0, buffer, at, length - at);
		if (n === 0)
			process.exit(0);
		at += n;
	}
	return buffer;
}

function write(buffer) {
	for (let at = 0; at < buffer.length;)
		at += writeSync(1, buffer, at);
}

for (;;) {
	const text = read(read(4).readUInt32LE()).toString('utf8');
	let value;
	try {
		value = JSON.parse(text);
	} catch {
		write(REFUSED);
		continue;
	}
	let form;
	try {
		form = Buffer.from(canonicalize(value), 'utf8');
	} catch {
		form = Buffer.alloc(0); // JSON, but not I-JSON: asked for whether it is JSON only
	}
	const length = Buffer.alloc(4);
	length.writeUInt32LE(form.length);
	write(Buffer.concat([length, form]));
}
