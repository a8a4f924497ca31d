/**
 * The bounds of the NATS API, and what happens at each.
 *
 * Owns: the numbers. Does not own: bounds of the things themselves: ids and values (actors/), records (projections/), the
 * largest message of the server (`max_payload`, nats.conf).
 */

/** A request, bytes. A larger one is refused unread. It is far above what the largest input and metadata take together. */
export const REQUEST_BYTES_MAX = 512 * 1024;
/** Arrays and objects inside each other. A deeper request is refused: whoever walks it later walks by recursion. */
export const NESTING_MAX = 128;
/** Faults that one refusal lists; the rest are counted. */
export const FAULTS_MAX = 50;
/** A reason, a failure's message, and who asks: characters. */
export const TEXT_LENGTH_MAX = 2_000;
/** A refusal's details, bytes of JSON; larger ones are left out, and the text says enough. */
export const DETAILS_BYTES_MAX = 16 * 1024;

/** How long `wait: true` waits, ms. */
export const WAIT_MS_DEFAULT = 30_000;
/** The longest wait, ms. Who wants to wait longer asks again: it is the same job. */
export const WAIT_MS_MAX = 600_000;

/** Entries of one page, whatever the caller asks for. */
export const PAGE_ENTRIES_MAX = 10_000;
/** Entries of one page together, bytes of JSON: half of what the server lets through. The next page begins after them. */
export const PAGE_BYTES_MAX = 512 * 1024;

/** Jobs of one page of a list when nothing else is asked for… */
export const JOBS_LISTED_DEFAULT = 100;
/** …and at most. */
export const JOBS_LISTED_MAX = 1_000;
/** Journal positions that are read at once for a list of jobs… */
export const JOBS_WINDOW = 4_096;
/** …and for one page at most. A page that found less than it was asked for by then ends there. */
export const JOBS_SCANNED_MAX = 32_768;

/** Commands that are being decided or waited for. One more is refused, to be tried again later. */
export const COMMANDS_IN_FLIGHT_MAX = 20_000;
/** Queries that read the journal at once… */
export const READS_AT_ONCE_MAX = 4;
/** …and those that wait for their turn. One more is refused, to be tried again later. */
export const READS_WAITING_MAX = 1_000;

/** Set-aside jobs and job types that health lists; the rest are counted. */
export const HEALTH_LISTED_MAX = 100;
/** How long health waits for the server to say how large the stream is, ms; after it the size is not told. */
export const HEALTH_STREAM_WAIT_MS = 1_000;

/** How long a stop waits for commands that are being decided, ms; then they are answered that nobody knows. */
export const STOP_WAIT_MS = 2_000;
