/** The flags of each command as `program.ts` reads them. */

export interface DevnetFlags {
  readonly nodes: number;
  readonly blockTime?: number;
  readonly generation: number;
  readonly httpPort: number;
  readonly wsPort: number;
  readonly dataDir?: string;
  readonly fresh?: true;
  readonly untilHeight?: number;
  readonly json?: true;
}

export interface AccountsFlags {
  readonly generation: number;
  readonly json?: true;
}

export interface StartFlags {
  readonly network: string;
  readonly dataDir?: string;
  readonly httpPort?: number;
  readonly wsPort?: number;
  readonly peer?: readonly string[];
  readonly peers: boolean;
  readonly forging: boolean;
  readonly config?: string;
}

export interface StatusFlags {
  readonly node: string;
  readonly digest?: true;
  readonly json?: true;
}

export interface GenesisFlags {
  readonly generation: number;
  readonly name: string;
  readonly out: string;
  readonly delegates: number;
  readonly blockTime: number;
  readonly seed?: string;
}
