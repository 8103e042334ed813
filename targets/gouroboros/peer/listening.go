package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"

	ouroboros "github.com/blinklabs-io/gouroboros"
)

// announce prints a line when it listens.
func announce(listen string) (net.Listener, error) {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	fmt.Println("listening")
	return listener, nil
}

// accept sees to each connection by itself, until none comes any more.
func accept(listener net.Listener, see func(socket net.Conn) error) error {
	for {
		socket, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			if err := see(socket); err != nil {
				fmt.Fprintf(os.Stderr, "%v: %v\n", socket.RemoteAddr(), err)
			}
		}()
	}
}

// converse is the server's side of node-to-node on one connection, with these protocols, until it ends.
func converse(magic uint32, socket net.Conn, protocols ...ouroboros.ConnectionOptionFunc) error {
	connection, err := ouroboros.NewConnection(append(protocols,
		ouroboros.WithConnection(socket),
		ouroboros.WithServer(true),
		ouroboros.WithNetworkMagic(magic),
		ouroboros.WithNodeToNode(true),
		ouroboros.WithKeepAlive(true),
		ouroboros.WithLogger(slog.New(slog.DiscardHandler)),
	)...)
	if err != nil {
		return err
	}
	return <-connection.ErrorChan()
}
