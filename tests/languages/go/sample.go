// Package shop sells things.
package shop

import (
	"fmt"
	str "strings"
)

// Limit is how many go in.
const Limit = 9

const (
	// Small and Large are sizes.
	Small, Large = iota, iota + 1
	_           = "not a name"
)

var total, count int

var (
	registry = map[string]*Basket{}
	_        Pricer = (*Basket)(nil)
)

// Basket holds what is bought.
type Basket struct {
	Base
	*str.Builder
	Name       string // shown
	rows, cols int
}

type (
	// Pricer knows a price.
	Pricer interface {
		fmt.Stringer
		// Price of so many.
		Price(count int, rate float64) (int, error)
	}
	Table[K comparable, V any] struct{ rows map[K]V }
	Handler                    func(*Basket) error
)

type Alias = Basket

// New makes a basket.
// It never fails.
func New[T any](name string, rows, cols int, more ...T) (*Basket, error) {
	check := func(n int) bool { return n > Limit }
	if check(len(more)) {
		return nil, fmt.Errorf("full")
	}
	return &Basket{Name: str.ToUpper(name)}, nil
}

func (b *Basket) Price(count int, rate float64) (int, error) {
	return int(float64(count) * rate), nil
}

func (t Table[K, V]) Get(key K) V { return t.rows[key] }

func (*Basket) String() string { return "basket" }

func init() { registry["a"] = Must(New[int]("a", 1, 2)) }
