// The ten expressions of exprs/ in cel-go: the same variables and options as bench/cel.c.
//
//	go run . [directory]
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
)

func variables() map[string]any {
	list := make([]int64, 100)
	for k := range list {
		list[k] = int64(k)
	}
	labels := map[string]string{}
	for k := 0; k < 8; k++ {
		labels[fmt.Sprintf("label-%d", k)] = fmt.Sprintf("value-%d", k)
	}
	return map[string]any{
		"i":       int64(42),
		"s":       "the quick brown fox jumps over the lazy dog",
		"name":    "node-17.rack-3.example.com",
		"numbers": list,
		"tags":    []string{"tag-0", "tag-1", "tag-2", "tag-3"},
		"labels":  labels,
		"device":  map[string]any{"driver": "gpu.example.com", "model": "H100", "memory": int64(80)},
	}
}

func environment() *cel.Env {
	env, err := cel.NewEnv(
		cel.Variable("i", cel.IntType),
		cel.Variable("s", cel.StringType),
		cel.Variable("name", cel.StringType),
		cel.Variable("numbers", cel.ListType(cel.IntType)),
		cel.Variable("tags", cel.ListType(cel.StringType)),
		cel.Variable("labels", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("device", cel.MapType(cel.StringType, cel.DynType)),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		ext.Strings(ext.StringsVersion(2)),
	)
	if err != nil {
		panic(err)
	}
	return env
}

// Processor time of this process, its collector included: others may be busy.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func main() {
	dir := "exprs"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.cel"))
	sort.Strings(files)
	env, vars := environment(), variables()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		ast, iss := env.Compile(strings.TrimSpace(string(text)))
		if iss.Err() != nil {
			panic(iss.Err())
		}
		// As Kubernetes makes programs: constants folded, the cost tracked.
		prg, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize|cel.OptTrackCost))
		if err != nil {
			panic(err)
		}
		activation, err := cel.NewActivation(vars)
		if err != nil {
			panic(err)
		}
		best := 1e18
		for round, n := 0, 1; round < 7; {
			before := cpu()
			for k := 0; k < n; k++ {
				if out, _, err := prg.Eval(activation); err != nil || types.IsError(out) {
					panic(err)
				}
			}
			took := cpu() - before
			if took < 50*time.Millisecond {
				n *= 2
				continue
			}
			best = min(best, float64(took.Nanoseconds())/float64(n))
			round++
		}
		name := strings.TrimSuffix(filepath.Base(file), ".cel")
		fmt.Printf("expr/%-39s %10.1f ns\n", name, best)
	}
}
