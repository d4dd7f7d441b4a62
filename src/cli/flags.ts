/** The flags of each command as `program.ts` reads them. */

import type { Generation } from '../protocol/params.ts';

export interface DevnetFlags {
  readonly nodes: number;
  readonly blockTime?: number;
  readonly generation: Generation;
  readonly httpPort: number;
  readonly wsPort: number;
  readonly dataDir?: string;
  readonly fresh?: true;
  readonly untilHeight?: number;
  readonly json?: true;
}

export interface AccountsFlags {
  readonly generation: Generation;
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
  readonly generation: Generation;
  readonly name: string;
  readonly out: string;
  readonly delegates: number;
  readonly blockTime: number;
  readonly seed?: string;
}

export interface WhyFlags {
  readonly node: string;
  readonly limit: number;
  readonly json?: true;
}

export interface ExportFlags {
  readonly network?: string;
  readonly dataDir?: string;
  readonly from?: number;
  readonly to?: number;
}

export interface ImportFlags {
  readonly network: string;
  readonly dataDir?: string;
}

export interface VerifyFlags {
  readonly network?: string;
  readonly dataDir?: string;
}

export interface RollbackFlags {
  readonly network?: string;
  readonly dataDir?: string;
  readonly to: number;
}

export interface NetworkImportFlags {
  readonly from: string;
  readonly name: string;
  readonly out?: string;
  readonly protocolVersion?: string;
  readonly force?: true;
}
