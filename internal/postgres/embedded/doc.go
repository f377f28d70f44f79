// Package embedded runs a private PostgreSQL server for one program: for dev, demo and tests.
//
// The server is the one that is installed; this package only makes a cluster in a folder and runs it:
//
//	<dir>/lock          held while a program uses the folder
//	<dir>/pgdata        the cluster; its data stays from one start to the next
//	<dir>/postgres.log  what the server says
//	<dir>/socket        the only way in (a folder below /tmp when the path would be too long for a socket)
//
// It listens on no network address, and the socket's folder is closed to other users, because the server trusts whoever
// reaches it. It ends with its program, however that ends: on Linux the kernel sees to it, elsewhere a small watcher does.
package embedded
