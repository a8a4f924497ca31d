import { jobs } from "./jobs.ts";
console.log(await jobs.run());
process.exit(0);
