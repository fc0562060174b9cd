interface Props<T> {
  items: T[]
  render(item: T): JSX.Element
}

/** A list of anything. */
export const List = <T,>({ items, render }: Props<T>): JSX.Element => (
  <ul>{items.map(item => <li>{render(item)}</li>)}</ul>
)

export default function Page({ id }: { id: string }) {
  const load = async (): Promise<void> => {}
  return <List items={[id]} render={(item) => <b>{item}</b>} />
}

export const Panel = memo(function Panel(props: Props<string>) { return <div /> })
