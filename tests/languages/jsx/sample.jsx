import React, { memo, forwardRef } from 'react'

/** Greets one person. */
export function Greeting({ name }) {
  const onClick = useCallback(() => { greet(name) }, [name])
  return <button onClick={onClick}>Hello {name}</button>
}

export const Card = memo(({ title, children }) => (
  <section>
    <h1>{title}</h1>
    {children}
  </section>
))

export const Field = React.forwardRef(function (props, ref) {
  return <input ref={ref} {...props} />
})

const useCounter = (start = 0) => {
  const [count, setCount] = useState(start)
  return { count, increase: () => setCount(count + 1) }
}

export default class App extends React.Component {
  state = { open: false }
  render() { return <Greeting name="you" /> }
}
