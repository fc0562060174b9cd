/** What a store keeps. */
export interface Store<T> extends Base {
  name: string
  get(key: string): T
  /** Removes a key. */
  remove?(key: string, quiet?: boolean): void
}

export type Handler = (event: Event) => void
type Wide =
  | { kind: 'a'; size: number }
  | Handler

export const enum Level { Low, High }

@Injectable({
  scope: 'root',
})
// Between.
export abstract class Service<T> extends Base implements Store<T> {
  @Input() label: string
  static readonly LIMIT = 3
  private load = async (
    url: string, // where from
    retries = {
      times: 1,
    },
  ): Promise<T> => fetch(url)

  constructor(private readonly http: Http, @Inject(TOKEN) token: string) { super() }
  @Get('/items')
  async list<K>(this: Service<T>, filter: K): Promise<T[]> { return [] }
  get ready(): boolean { return true }
  abstract close(): void
}

export function parse(text: string): number
export function parse(text: number): number
export function parse(text: any): any { return text }

export const isText = (value: unknown): value is string => typeof value === 'string'

declare function legacy(name: string): void
declare const VERSION: string

declare module 'plain' {
  export function inside(): void
}
declare global {
  interface Window { store: Store<string> }
}
namespace Outer.Inner {
  export const shared = 1
  export function helper(): void {}
}
export default class {}
