// Prio3SumVec by @divviup/prio3: one report of all counts of a batch. Arguments: node_modules, queries, repeats.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const CLASSES = 10;
const TEACHERS = 10;
const BITS = 4; // of a count from 0 to 10

const folder = join(process.argv[2], "@divviup", "prio3");
const queries = Number(process.argv[3]);
const repeats = Number(process.argv[4]);
const { main, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const { Prio3SumVec } = await import(pathToFileURL(join(folder, main)).href);

const length = queries * CLASSES;
const chunkLength = Math.round(Math.sqrt(length * BITS)); // makes proof and verifier shares shortest
const vdaf = new Prio3SumVec({ shares: 2, length, bits: BITS, chunkLength });

async function time(seconds, role, work) {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  seconds[role] = (seconds[role] ?? 0) + (user + system) / 1e6;
  return result;
}

async function run() {
  const seconds = {};
  const counts = Array.from({ length }, () => Math.floor(Math.random() * (TEACHERS + 1)));
  const nonce = randomBytes(vdaf.nonceSize);
  const key = randomBytes(vdaf.verifyKeySize);
  const { publicShare, inputShares } = await time(seconds, "party", () =>
    vdaf.shard(counts, nonce, randomBytes(vdaf.randSize)),
  );
  const roles = ["guardian", "querying party"];
  const prepared = [];
  for (const [i, role] of roles.entries()) {
    prepared.push(
      await time(seconds, role, () =>
        vdaf.prepareInit(key, i, null, nonce, publicShare, inputShares[i]),
      ),
    );
  }
  const shares = prepared.map((one) => one.preparationShare);
  const message = await time(seconds, "guardian", () =>
    vdaf.unshardPreparationShares(null, shares),
  );
  const sums = [];
  for (const [i, role] of roles.entries()) {
    const { outputShare } = await time(seconds, role, () =>
      vdaf.prepareNext(prepared[i].preparationState, message),
    );
    sums.push(vdaf.aggregate(null, [outputShare]));
  }
  const found = await vdaf.unshard(null, sums, 1);
  if (!found.every((sum, i) => Number(sum) === counts[i])) throw new Error("Prio3 found other sums");
  // Each side has the public share and its own input share; the guardian gets the other's share, and answers.
  const sent =
    inputShares.reduce((sum, share) => sum + vdaf.encodeInputShare(share).length, 0) +
    2 * vdaf.encodePublicShare(publicShare).length +
    vdaf.encodePreparationShare(shares[1]).length +
    vdaf.encodePreparationMessage(message).length;
  return { seconds, sent };
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

const runs = [];
for (let i = 0; i < repeats; i++) runs.push(await run());
const roles = Object.keys(runs[0].seconds);
const seconds = Object.fromEntries(
  roles.map((role) => [role, median(runs.map((one) => one.seconds[role]))]),
);
console.log(JSON.stringify({ version, queries, seconds, sent: runs[0].sent, messages: 4 }));
