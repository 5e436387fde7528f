"""What is true of the objects that the chart makes."""

import unittest

import yaml

import schemas
from chart import CASES, CHART, REPOSITORY, SECRETS, case, render, values_of


def values(name):
    """The chart's values with those of a case over them."""
    base = yaml.safe_load((CHART / "values.yaml").read_text())
    over = yaml.safe_load(values_of(name)) or {}
    return {**base, **over}


class Objects(unittest.TestCase):
    def test_each_fits_its_schema(self):
        for name in CASES:
            for thing in case(name).objects:
                with self.subTest(name, kind=thing["kind"]):
                    schemas.validate(thing)

    def test_the_schemas_refuse_what_they_do_not_know(self):
        for kind in ["Deployment", "ServiceMonitor", "PrometheusRule"]:
            thing = {**case("everything").one(kind)}
            thing["spec"] = {**thing["spec"], "replicass": 2}
            with self.subTest(kind), self.assertRaises(Exception):
                schemas.validate(thing)

    def test_everything_is_in_the_namespace_of_the_release(self):
        for name in CASES:
            for thing in case(name).objects:
                router = thing["kind"] == "NetworkPolicy" and thing["metadata"]["name"].endswith("-router")
                if not router:
                    self.assertEqual(thing["metadata"]["namespace"], "fleet", thing["metadata"]["name"])

    def test_sqlite_is_one_pod_with_a_volume_of_its_own(self):
        workload = case("default").workload()
        self.assertEqual((workload["kind"], workload["spec"]["replicas"]), ("StatefulSet", 1))
        (claim,) = workload["spec"]["volumeClaimTemplates"]
        mounts = {each["name"]: each["mountPath"] for each in case("default").container()["volumeMounts"]}
        self.assertEqual(mounts[claim["metadata"]["name"]], "/var/lib/bailiwick")
        self.assertEqual(case("default").of("PodDisruptionBudget"), [])

    def test_postgres_is_a_deployment_that_rolls(self):
        workload = case("postgres-several").workload()
        self.assertEqual((workload["kind"], workload["spec"]["replicas"]), ("Deployment", 3))
        self.assertEqual(workload["spec"]["strategy"]["rollingUpdate"], {"maxUnavailable": 0, "maxSurge": 1})
        budget = case("postgres-several").one("PodDisruptionBudget")["spec"]
        self.assertEqual(budget["maxUnavailable"], 1)
        self.assertEqual(budget["selector"], workload["spec"]["selector"])
        # A volume that one node has at a time cannot be with the old pod and the new one.
        self.assertEqual(case("remote-mimir").workload()["spec"]["strategy"], {"type": "Recreate"})

    def test_selectors_meet_the_pods(self):
        for name in CASES:
            labels = case(name).pod()["metadata"]["labels"]
            selectors = [case(name).workload()["spec"]["selector"]["matchLabels"]]
            selectors += [each["spec"]["selector"] for each in case(name).of("Service")]
            selectors += [each["spec"]["selector"]["matchLabels"] for each in case(name).of("PodDisruptionBudget")]
            for selector in selectors:
                self.assertTrue(selector and selector.items() <= labels.items(), selector)

    def test_new_settings_make_new_pods(self):
        def checksum(text):
            return render(text).pod()["metadata"]["annotations"]["checksum/config"]

        self.assertNotEqual(checksum("{}"), checksum("config: {log: {level: warn}}"))
        self.assertEqual(checksum("{}"), checksum("service: {port: 81}"))


class Pods(unittest.TestCase):
    def test_they_have_no_rights(self):
        for name in CASES:
            pod, container = case(name).pod()["spec"], case(name).container()
            context = pod["securityContext"]
            self.assertTrue(context["runAsNonRoot"])
            self.assertEqual({context[each] for each in ["runAsUser", "runAsGroup", "fsGroup"]}, {10001})
            self.assertEqual(context["seccompProfile"], {"type": "RuntimeDefault"})
            self.assertEqual(
                container["securityContext"],
                {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
            )
            self.assertFalse(pod["automountServiceAccountToken"])
            for account in case(name).of("ServiceAccount"):
                self.assertFalse(account["automountServiceAccountToken"])
                self.assertEqual(account["metadata"]["name"], pod["serviceAccountName"])

    def test_variables_of_services_are_left_out(self):
        # BAILIWICK_PORT and the like would be unknown settings.
        for name in CASES:
            self.assertFalse(case(name).pod()["spec"]["enableServiceLinks"])

    def test_they_have_the_time_to_end(self):
        for name in CASES:
            seconds = case(name).pod()["spec"]["terminationGracePeriodSeconds"]
            self.assertEqual(seconds, values(name)["drainSeconds"] + 65)
            self.assertIn(f'drain_delay = "{seconds - 65}s"', case(name).configuration())

    def test_they_have_the_time_to_start(self):
        for name in CASES:
            probe = case(name).container()["startupProbe"]
            self.assertGreaterEqual(probe["failureThreshold"] * probe["periodSeconds"], values(name)["startSeconds"])
        longest = render("startSeconds: 86400").container()["startupProbe"]
        self.assertEqual(longest["failureThreshold"] * longest["periodSeconds"], 86400)

    def test_texts_that_look_like_numbers_stay_texts(self):
        secrets = "secrets: {secret: {name: \"1\", key: \"2\"}}"
        (source,) = [
            source["secret"]
            for volume in render(secrets).pod()["spec"]["volumes"]
            for source in volume.get("projected", {}).get("sources", [])
        ]
        self.assertEqual((source["name"], source["items"][0]["key"]), ("1", "2"))

    def test_a_database_that_is_away_kills_nothing(self):
        for name in CASES:
            live = case(name).container()["livenessProbe"]
            self.assertIn(live.get("httpGet", {}).get("path", "none"), ["none", "/live"])
            if "httpGet" not in live:
                self.assertEqual(live["tcpSocket"], {"port": "http"})

    def test_probes_ask_ports_that_are_there(self):
        for name in CASES:
            container = case(name).container()
            ports = {each["name"] for each in container["ports"]}
            self.assertEqual("metrics" in ports, "metrics.token" in values(name)["secrets"])
            ready = container["readinessProbe"]["httpGet"]
            self.assertEqual(ready["path"], "/ready" if "metrics" in ports else "/health")
            for probe in ["startupProbe", "readinessProbe", "livenessProbe"]:
                asked = container[probe].get("httpGet") or container[probe]["tcpSocket"]
                self.assertIn(asked["port"], ports)
        self.assertEqual(case("everything").container()["startupProbe"]["httpGet"]["scheme"], "HTTPS")
        self.assertEqual(case("default").container()["startupProbe"]["httpGet"]["scheme"], "HTTP")

    def test_probes_ask_where_the_interface_is(self):
        for paths, path in {"[/api, /]": "/health", "[/api, /backend/api]": "/api/health", "[]": "/health"}.items():
            rendered = render(f"config: {{http: {{base_paths: {paths}}}}}")
            self.assertEqual(rendered.container()["startupProbe"]["httpGet"]["path"], path)

    def test_they_have_limits(self):
        for name in CASES:
            resources = case(name).container()["resources"]
            self.assertEqual({*resources["requests"]}, {"cpu", "memory"})
            self.assertIn("memory", resources["limits"])

    def test_secrets_are_files_and_nothing_else(self):
        for name in CASES:
            references = values(name)["secrets"]
            self.assertEqual(case(name).of("Secret"), [])
            self.assertFalse([each for each in case(name).container()["env"] if "valueFrom" in each])
            volumes = {each["name"]: each for each in case(name).pod()["spec"]["volumes"]}
            mounted = {}
            for source in volumes.get("secrets", {"projected": {"sources": []}})["projected"]["sources"]:
                for item in source["secret"]["items"]:
                    mounted[f"{SECRETS}/{item['path']}"] = {"name": source["secret"]["name"], "key": item["key"]}
            self.assertEqual(mounted, {f"{SECRETS}/{setting}": each for setting, each in references.items()})
            named = {value for key, value in case(name).environment().items() if key.endswith("_FILE")}
            self.assertEqual(named, set(mounted))


class Network(unittest.TestCase):
    def policy(self, name, router):
        (found,) = [
            each for each in case(name).of("NetworkPolicy") if each["metadata"]["name"].endswith("-router") == router
        ]
        return found

    def test_only_the_service_reaches_the_router(self):
        policy = self.policy("everything", router=True)
        self.assertEqual(policy["metadata"]["namespace"], "fleet")
        self.assertEqual(policy["spec"]["podSelector"], {"matchLabels": {"app": "alertmanager"}})
        self.assertEqual(policy["spec"]["policyTypes"], ["Ingress"])
        (rule,) = policy["spec"]["ingress"]
        self.assertEqual(rule, {"from": [self.service_pods("everything")]})

    def test_a_router_of_several_pods_may_reach_itself(self):
        policy = self.policy("remote-mimir", router=True)
        self.assertEqual(policy["metadata"]["namespace"], "mimir")
        (rule,) = policy["spec"]["ingress"]
        self.assertEqual(rule["from"], [self.service_pods("remote-mimir"), {"podSelector": policy["spec"]["podSelector"]}])

    def service_pods(self, name):
        """The peer that admits the service's pods and no others; each part of it must hold."""
        return {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "fleet"}},
            "podSelector": case(name).workload()["spec"]["selector"],
        }

    def test_the_service_is_reached_at_its_ports(self):
        for name in CASES:
            policy = self.policy(name, router=False)["spec"]
            self.assertEqual(policy["podSelector"], case(name).workload()["spec"]["selector"])
            ports = {each["ports"][0]["port"]: each.get("from") for each in policy["ingress"]}
            self.assertEqual("metrics" in ports, bool(values(name)["networkPolicy"].get("metrics")))
            # Nobody means everybody in a policy.
            self.assertNotEqual(ports.get("metrics", "closed"), None)

    def test_the_ingress_follows_the_public_address(self):
        spec = case("everything").one("Ingress")["spec"]
        self.assertEqual(spec["tls"], [{"hosts": ["fleet.example.org"], "secretName": "fleet-tls"}])
        (rule,) = spec["rules"]
        self.assertEqual(rule["host"], "fleet.example.org")
        self.assertEqual(rule["http"]["paths"][0]["backend"]["service"], {"name": "fleet", "port": {"name": "http"}})


class Watching(unittest.TestCase):
    def test_prometheus_is_given_the_token_and_the_name(self):
        monitor = case("everything").one("ServiceMonitor")["spec"]
        (endpoint,) = monitor["endpoints"]
        self.assertEqual(endpoint["authorization"], {"credentials": {"name": "bailiwick", "key": "metrics-token"}})
        self.assertEqual(endpoint["relabelings"], [{"targetLabel": "job", "replacement": "bailiwick"}])
        found = [
            each
            for each in case("everything").of("Service")
            if monitor["selector"]["matchLabels"].items() <= each["metadata"]["labels"].items()
        ]
        (service,) = found
        self.assertIn(endpoint["port"], [each["name"] for each in service["spec"]["ports"]])

    def test_metrics_are_not_published(self):
        for service in case("everything").of("Service"):
            if "metrics" in [each["name"] for each in service["spec"]["ports"]]:
                self.assertEqual(service["spec"]["clusterIP"], "None")

    def test_rules_and_dashboard_are_those_of_the_packaging(self):
        rules = yaml.safe_load((REPOSITORY / "packaging/prometheus/bailiwick.rules.yml").read_text())
        self.assertEqual(case("everything").one("PrometheusRule")["spec"], rules)
        dashboard = (REPOSITORY / "packaging/grafana/bailiwick.json").read_text()
        (found,) = [each for each in case("everything").of("ConfigMap") if "bailiwick.json" in each["data"]]
        self.assertEqual(found["data"]["bailiwick.json"].strip(), dashboard.strip())

    def test_the_version_is_that_of_the_program(self):
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        manifest = (REPOSITORY / "Cargo.toml").read_text()
        self.assertIn(f'version = "{chart["appVersion"]}"', manifest)
        self.assertEqual(chart["version"], chart["appVersion"])
        for file in ["sqlite.yaml", "mimir.yaml"]:
            text = (REPOSITORY / "packaging/compose" / file).read_text()
            self.assertIn(f"image: bailiwick:{chart['appVersion']}\n", text)


if __name__ == "__main__":
    unittest.main()
