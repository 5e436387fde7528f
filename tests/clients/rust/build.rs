//! Generates the client of `bailiwick openapi --openapi 3.0` with progenitor.

use progenitor::{GenerationSettings, Generator, InterfaceStyle};
use serde_json::Value;
use std::{env, fs, path::Path};

fn main() {
    let file = env::var("BAILIWICK_OPENAPI").expect("BAILIWICK_OPENAPI names the document");
    println!("cargo::rerun-if-env-changed=BAILIWICK_OPENAPI");
    println!("cargo::rerun-if-changed={file}");
    let mut document: Value = serde_json::from_slice(&fs::read(&file).expect("the document")).expect("JSON");
    let items = document["paths"].as_object_mut().expect("paths").values_mut();
    for item in items.filter_map(Value::as_object_mut) {
        // The generator cannot handle forms with files. They are left out; everything else is there.
        item.retain(|_, operation| operation["requestBody"]["content"]["multipart/form-data"].is_null());
        for answers in item.values_mut().filter_map(|operation| operation["responses"].as_object_mut()) {
            // It knows one kind of refusal for an operation. The alert router's have several, or no body: none is read.
            if answers["default"]["content"]["application/json"]["schema"]["$ref"].is_null() {
                let refusals = answers.iter_mut().filter(|(status, _)| !status.starts_with('2'));
                refusals.filter_map(|(_, refusal)| refusal.as_object_mut()).for_each(|refusal| {
                    refusal.remove("content");
                });
            }
            // It takes the answer that is not described otherwise for a success.
            if let Some(refusal) = answers.remove("default") {
                answers.insert("4XX".to_owned(), refusal.clone());
                answers.insert("5XX".to_owned(), refusal);
            }
        }
    }
    // Older clients get some figures twice, with a capital and without; fields here have none.
    let schemas = document["components"]["schemas"].as_object_mut().expect("schemas").values_mut();
    for properties in schemas.filter_map(|schema| schema.get_mut("properties")?.as_object_mut()) {
        let names: Vec<String> = properties.keys().cloned().collect();
        properties.retain(|name, _| {
            let plain = name.to_ascii_lowercase();
            plain == *name || !names.contains(&plain)
        });
    }
    let document = serde_json::from_value(document).expect("an OpenAPI document of version 3.0");
    let code = Generator::new(&GenerationSettings::default().with_interface(InterfaceStyle::Builder))
        .generate_tokens(&document)
        .expect("a client")
        .to_string();
    let out = env::var("OUT_DIR").expect("OUT_DIR");
    fs::write(Path::new(&out).join("client.rs"), code).expect("the client is written");
}
