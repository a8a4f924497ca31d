/**
 * The Ids port: everything random or hashed that enters a turn from outside.
 */

export interface Ids {
  /** A ULID (26 characters, sorts by time of minting within a process). */
  ulid(): string;
  /** 128 random bits as 22 characters of base64url: a writer id, minted per fence. */
  writerId(): string;
  /** 128 bits of SHA-256 of the text as 22 characters of base64url. Equal text, equal digest. */
  digest(text: string): string;
}
