// Go's golang.org/x/mod/sumdb, with which Go's own log of modules is verified, as a reader of a published log of
// statements, and as a witness of it. tests/statement_peers.py runs it.
package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A cosigner is a key of tlog-cosignature, which this version of note does not know.
type cosigner struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func (c cosigner) Name() string    { return c.name }
func (c cosigner) KeyHash() uint32 { return c.hash }
func (c cosigner) Verify(body, signature []byte) bool {
	return len(signature) == 72 && ed25519.Verify(c.key, cosigned(signature[:8], body), signature[8:])
}

func cosigned(seconds, body []byte) []byte {
	return append([]byte(fmt.Sprintf("cosignature/v1\ntime %d\n", binary.BigEndian.Uint64(seconds))), body...)
}

func keyHash(name string, key []byte) uint32 {
	hash := sha256.Sum256(append([]byte(name+"\n"), key...))
	return binary.BigEndian.Uint32(hash[:])
}

func verifier(vkey string) note.Verifier {
	parts := strings.SplitN(vkey, "+", 3)
	key := must(base64.StdEncoding.DecodeString(parts[2]))
	if key[0] != 4 {
		return must(note.NewVerifier(vkey))
	}
	return cosigner{parts[0], keyHash(parts[0], key), key[1:]}
}

// opened opens a checkpoint, which all of the keys must have signed.
func opened(text []byte, verifiers ...note.Verifier) (*note.Note, tlog.Tree) {
	n := must(note.Open(text, note.VerifierList(verifiers...)))
	if len(n.Sigs) != len(verifiers) {
		check(fmt.Errorf("%d of %d signatures were verified", len(n.Sigs), len(verifiers)))
	}
	lines := strings.Split(n.Text, "\n")
	return n, tlog.Tree{N: must(strconv.ParseInt(lines[1], 10, 64)), Hash: must(tlog.ParseHash(lines[2]))}
}

// tiles reads the tiles of a directory, whose paths do not name their height.
type tiles string

func (t tiles) Height() int                      { return 8 }
func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}
func (t tiles) ReadTiles(wanted []tlog.Tile) (data [][]byte, err error) {
	for _, tile := range wanted {
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		data = append(data, must(os.ReadFile(filepath.Join(string(t), path))))
	}
	return data, nil
}

// read verifies the checkpoint, each statement, and that each earlier tree is continued; and a proof.
func read(directory, proof string, keys []string) {
	var verifiers []note.Verifier
	for _, key := range keys {
		verifiers = append(verifiers, verifier(key))
	}
	_, tree := opened(must(os.ReadFile(filepath.Join(directory, "checkpoint"))), verifiers...)
	reader := tlog.TileHashReader(tree, tiles(directory))
	for i := int64(0); i < tree.N; i++ {
		path := fmt.Sprintf("%s/tile/entries/%03d", directory, i/256)
		if full := tree.N / 256; i/256 == full {
			path = fmt.Sprintf("%s.p/%d", path, tree.N-256*full)
		}
		bundle := must(os.ReadFile(path))
		for skipped := i % 256; skipped > 0; skipped-- {
			bundle = bundle[2+int(binary.BigEndian.Uint16(bundle)):]
		}
		leaf := tlog.RecordHash(bundle[2 : 2+int(binary.BigEndian.Uint16(bundle))])
		check(tlog.CheckRecord(must(tlog.ProveRecord(tree.N, i, reader)), tree.N, tree.Hash, i, leaf))
		earlier := must(tlog.TreeHash(i+1, reader))
		check(tlog.CheckTree(must(tlog.ProveTree(tree.N, i+1, reader)), tree.N, tree.Hash, i+1, earlier))
	}
	lines, checkpoint, _ := bytes.Cut(must(os.ReadFile(proof)), []byte("\n\n"))
	_, proved := opened(checkpoint, verifiers...)
	path := strings.Split(string(lines), "\n")
	statement := must(base64.StdEncoding.DecodeString(strings.TrimPrefix(path[1], "extra ")))
	var hashes tlog.RecordProof
	for _, hash := range path[3:] {
		hashes = append(hashes, must(tlog.ParseHash(hash)))
	}
	index := must(strconv.ParseInt(strings.TrimPrefix(path[2], "index "), 10, 64))
	check(tlog.CheckRecord(hashes, proved.N, proved.Hash, index, tlog.RecordHash(statement)))
	fmt.Printf("golang.org/x/mod/sumdb: %d signatures, %d statements\n", len(verifiers), tree.N)
}

// witness cosigns the checkpoints of a log that only grows: tlog-witness, add-checkpoint.
// It prints its verification key and its address.
func witness(log note.Verifier, name string) {
	public, key, err := ed25519.GenerateKey(nil)
	check(err)
	public = append([]byte{4}, public...)
	hash := keyHash(name, public)
	var known tlog.Tree
	http.HandleFunc("/add-checkpoint", func(out http.ResponseWriter, request *http.Request) {
		body := bufio.NewReader(request.Body)
		old := must(strconv.ParseInt(strings.TrimSpace(must(body.ReadString('\n'))[4:]), 10, 64))
		var proof tlog.TreeProof
		for line := must(body.ReadString('\n')); line != "\n"; line = must(body.ReadString('\n')) {
			proof = append(proof, must(tlog.ParseHash(strings.TrimSpace(line))))
		}
		n, tree := opened(must(io.ReadAll(body)), log)
		if old != known.N {
			out.WriteHeader(http.StatusConflict)
			fmt.Fprintln(out, known.N)
			return
		}
		if old > 0 {
			if err := tlog.CheckTree(proof, tree.N, tree.Hash, old, known.Hash); err != nil {
				http.Error(out, err.Error(), http.StatusUnprocessableEntity)
				return
			}
		}
		known = tree
		signature := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, hash), uint64(time.Now().Unix()))
		signature = append(signature, ed25519.Sign(key, cosigned(signature[4:], []byte(n.Text)))...)
		fmt.Fprintf(out, "— %s %s\n", name, base64.StdEncoding.EncodeToString(signature))
	})
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Printf("%s+%08x+%s http://%s/\n", name, hash, base64.StdEncoding.EncodeToString(public), listener.Addr())
	check(http.Serve(listener, nil))
}

func main() {
	switch os.Args[1] {
	case "read":
		read(os.Args[2], os.Args[3], os.Args[4:])
	case "witness":
		witness(verifier(os.Args[2]), os.Args[3])
	case "key":
		fmt.Println(must(note.NewSigner(strings.TrimSpace(string(must(os.ReadFile(os.Args[2])))))).KeyHash())
	}
}
