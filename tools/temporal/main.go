// The Temporal server of the embedded stack for `npm start -- --build-temporal`: what `temporal server start-dev` of
// Temporal's CLI does with the options of dev/temporal.ts. The CLI itself needs a module that is not published.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/headers"
	serverlog "go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

// Set by dev/temporalInstall.mjs.
var version string

// A repeated option, such as --search-attribute=WalletId=Keyword.
type pairs map[string]string

func (p pairs) String() string { return "" }
func (p pairs) Set(pair string) error {
	name, value, _ := strings.Cut(pair, "=")
	p[name] = value
	return nil
}

func main() {
	if len(os.Args) < 3 || os.Args[1] != "server" || os.Args[2] != "start-dev" {
		fmt.Printf("temporal version %s (Server %s)\n", version, headers.ServerVersion)
		return
	}
	attributes, pragmas, dynamic := pairs{}, pairs{}, pairs{}
	flags := flag.NewFlagSet("temporal server start-dev", flag.ExitOnError)
	ip := flags.String("ip", "127.0.0.1", "")
	port := flags.Int("port", 7233, "")
	httpPort := flags.Int("http-port", 0, "")
	uiIP := flags.String("ui-ip", "127.0.0.1", "")
	uiPort := flags.Int("ui-port", 8233, "")
	headless := flags.Bool("headless", false, "")
	level := flags.String("log-level", "warn", "")
	file := flags.String("db-filename", "", "")
	flags.Var(attributes, "search-attribute", "")
	flags.Var(pragmas, "sqlite-pragma", "")
	flags.Var(dynamic, "dynamic-config-value", "")
	_ = flags.Parse(os.Args[3:])

	address := fmt.Sprintf("%s:%d", *ip, *port)
	conf := configure(*ip, *port, *httpPort, database(*file, pragmas, attributes))
	services := map[primitives.ServiceName]static.Hosts{}
	for name, service := range conf.Services {
		services[primitives.ServiceName(name)] = static.SingleLocalHost(fmt.Sprintf("%s:%d", *ip, service.RPC.GRPCPort))
	}
	logger := serverlog.NewZapLogger(serverlog.BuildZapLogger(serverlog.Config{Stdout: true, Level: *level}))
	claims := must(authorization.GetClaimMapperFromConfig(&conf.Global.Authorization, logger))
	server := must(temporal.NewServer(
		temporal.WithConfig(conf),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(services),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(must(authorization.GetAuthorizerFromConfig(&conf.Global.Authorization))),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }),
		temporal.WithDynamicConfigClient(dynamicValues(dynamic)),
	))
	if !*headless {
		ui := uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
			Host: *uiIP, Port: *uiPort, TemporalGRPCAddress: address, EnableUI: true, HideLogs: true, DisableNewsFetch: true,
			CORS: uiconfig.CORS{CookieInsecure: true},
		}))
		go func() { log.Fatal(ui.Start()) }()
		defer ui.Stop()
	}
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Temporal %s (Server %s)\nTemporal Server: %s\nTemporal HTTP: localhost:%d\n",
		version, headers.ServerVersion, address, *httpPort)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	_ = server.Stop()
}

// The database of one file, or in memory, with its schema and the namespace.
func database(file string, pragmas, attributes pairs) *config.SQL {
	conf := config.SQL{PluginName: sqliteplugin.PluginName, DatabaseName: file, ConnectAttributes: map[string]string{"mode": "rwc"}}
	if file == "" {
		conf.DatabaseName = uuid.NewString()
		conf.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
	}
	for name, value := range pragmas {
		conf.ConnectAttributes[name] = value
	}
	if _, err := os.Stat(file); file != "" && os.IsNotExist(err) {
		if err := sqlite.SetupSchema(&conf); err != nil {
			log.Fatal(err)
		}
	}
	types := map[string]enums.IndexedValueType{}
	for name, kind := range attributes {
		types[name] = enums.IndexedValueType(enums.IndexedValueType_shorthandValue[kind])
	}
	namespace := must(sqlite.NewNamespaceConfig("active", "default", false, types))
	if err := sqlite.CreateNamespaces(&conf, namespace); err != nil {
		log.Fatal(err)
	}
	return &conf
}

func configure(ip string, port, httpPort int, sql *config.SQL) *config.Config {
	conf := &config.Config{}
	address := fmt.Sprintf("%s:%d", ip, port)
	conf.Global.Membership.MaxJoinDuration = 30 * time.Second
	conf.Global.Membership.BroadcastAddress = ip
	conf.Persistence.DefaultStore = "sqlite"
	conf.Persistence.VisibilityStore = "sqlite"
	conf.Persistence.NumHistoryShards = 1
	conf.Persistence.DataStores = map[string]config.DataStore{"sqlite": {SQL: sql}}
	conf.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10,
		MasterClusterName:        "active",
		CurrentClusterName:       "active",
		ClusterInformation: map[string]cluster.ClusterInformation{
			"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address, ClusterID: uuid.NewString()},
		},
	}
	conf.DCRedirectionPolicy.Policy = "noop"
	conf.Archival.History.State = "disabled"
	conf.Archival.Visibility.State = "disabled"
	conf.NamespaceDefaults.Archival.History.State = "disabled"
	conf.NamespaceDefaults.Archival.Visibility.State = "disabled"
	conf.PublicClient.HostPort = address
	conf.Services = map[string]config.Service{}
	for _, name := range []string{"frontend", "history", "matching", "worker"} {
		service := config.Service{RPC: config.RPC{BindOnIP: ip, GRPCPort: port, HTTPPort: httpPort}}
		if name != "frontend" {
			service.RPC = config.RPC{BindOnIP: ip, GRPCPort: freePort(ip)}
		}
		conf.Services[name] = service
	}
	return conf
}

// The limits of the CLI, and the given values, as JSON.
func dynamicValues(given pairs) dynamicconfig.StaticClient {
	values := dynamicconfig.StaticClient{
		dynamicconfig.MakeKey("frontend.persistenceMaxQPS"):              10000,
		dynamicconfig.MakeKey("history.persistenceMaxQPS"):               45000,
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key():                 8096,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,
	}
	for name, text := range given {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		// Whole numbers have to be of the type int.
		if number, ok := value.(float64); ok && number == float64(int(number)) {
			value = int(number)
		}
		values[dynamicconfig.MakeKey(name)] = value
	}
	return values
}

func freePort(ip string) int {
	listener := must(net.Listen("tcp", ip+":0"))
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
